"""The agent of `google_adk_agent`, as Google's ADK offers it over A2A."""

from google.adk.a2a.utils.agent_to_a2a import to_a2a

from apps.google_adk_agent import root_agent

app = to_a2a(root_agent, host="127.0.0.1")
