"""How an agent plugs in: implementations of `cas_tui.loop.agent.Agent`, one way of running an agent a module."""
