"""Rule checks: detectors and models applied to drafts, messages and recorded sessions."""
