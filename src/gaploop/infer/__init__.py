"""From logs to knobs: likelihood by open-loop replay, search, chains, noise, discrepancy.

    residuals -> RobustLikelihood -> search (basins, which knobs moved) -> emulated (an emulator's
    posterior) -> chains (the posterior)

A log-likelihood is a callable (M, P) knob values -> (M,) nats, evaluated for all
candidates in one call. Everything works in the unit cube of prior quantiles, where
the prior is flat and a fresh prior draw of one knob is a uniform number.
"""

from gaploop.infer.chains import Chain, chains, chains_many
from gaploop.infer.discrepancy import replay_rms
from gaploop.infer.emulator import Emulator
from gaploop.infer.guess import Guess, Seen, emulated
from gaploop.infer.likelihood import RobustLikelihood, correlation_time
from gaploop.infer.mixing import ess, split_rhat
from gaploop.infer.noise import at_rest, noise_loglik, white_sd
from gaploop.infer.refine import refine
from gaploop.infer.search import Basin, Fit, search, search_many

__all__ = [
    "Basin", "Chain", "Emulator", "Fit", "Guess", "RobustLikelihood", "Seen", "at_rest",
    "chains", "chains_many", "correlation_time", "emulated", "ess", "noise_loglik", "refine",
    "replay_rms", "search", "search_many", "split_rhat", "white_sd",
]  # fmt: skip
