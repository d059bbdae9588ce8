"""The file that `gaploop init --task` writes: a minimal task of one's own, commented."""
