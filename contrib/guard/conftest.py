"""Runs the whole of pytest under `tinygram guard`: put this beside your tests, or import it in your conftest.py."""
import os, sys

def pytest_configure(config):
    if "UNDER_TINYGRAM_GUARD" not in os.environ:
        config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
        guard = os.environ.get("TINYGRAM", "tinygram")
        command = [guard, "guard", "--", sys.executable, "-m", "pytest", *config.invocation_params.args]
        os.execvpe(guard, command, {**os.environ, "UNDER_TINYGRAM_GUARD": "1"})
