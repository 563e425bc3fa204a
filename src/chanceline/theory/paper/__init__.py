"""The paper's own calculations that no command needs: finite m, breaking within a support."""
