"""Runnables behind LangServe: a model, its text alone, and an agent with tools.

The variable MODEL is where the scripted model is.
"""

from fastapi import FastAPI
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langserve import add_routes

from apps.langgraph_agents import MODEL, agent

app = FastAPI()
add_routes(app, MODEL.with_types(input_type=str), path="/model")
add_routes(app, (MODEL | StrOutputParser()).with_types(input_type=str), path="/text")
add_routes(
    app,
    (RunnableLambda(lambda question: {"messages": [("user", question)]}) | agent).with_types(input_type=str),
    path="/agent",
)
