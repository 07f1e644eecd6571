"""Asks `gpuprof mcp` with the client of the Model Context Protocol's own SDK, and prints what came back as JSON.

    mcp_client.py GPUPROF FOLDER"""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(gpuprof, folder):
    server = StdioServerParameters(command=gpuprof, args=["mcp", folder])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        await session.send_ping()
        tools = (await session.list_tools()).tools
        seen = {"version": hello.protocol_version, "name": hello.server_info.name, "tools": [tool.name for tool in tools]}
        run = {"path": "run.gpuprof"}
        calls = {
            "open": run,
            "insights": run,
            "view": {**run, "view": "cuda_gpu_kern_sum"},
            "query": {**run, "sql": "SELECT count(*) AS n, sum(duration_ns) AS ns FROM kernel"},
            "diff": {"before": ["run.gpuprof"], "after": ["run.gpuprof"]},
            "ranks": run,
            "picture": run,
        }
        assert set(calls) == set(seen["tools"])
        for name, arguments in calls.items():
            answer = await session.call_tool(name, arguments)
            assert not answer.is_error, answer
            [content] = answer.content
            seen[name] = json.loads(content.text) if content.type == "text" else content.mime_type
        refused = await session.call_tool("open", {"path": "/etc/passwd"})
        assert refused.is_error
        seen["refused"] = refused.content[0].text
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
