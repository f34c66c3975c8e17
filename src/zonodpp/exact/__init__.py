"""Independent draws from projection DPPs, DPPs, k-DPPs, designs and streams of rows."""
