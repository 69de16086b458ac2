import type { AgentConfig, AllowedNetwork } from '@hermes-fleet/loop';
import { createMcpPool, isTaskServer, type McpPool, type McpPoolOptions } from '@hermes-fleet/mcp';
import { type Confinement, supervise, throughProxy } from '@hermes-fleet/workspace';

/** Starts the clients of the MCP servers of config.yaml, each server confined as its scope says. */
export async function openMcp({
  config,
  confinement,
  network,
  ...options
}: Pick<McpPoolOptions, 'clock' | 'log' | 'onOperation'> & {
  readonly config: AgentConfig['mcp'];
  readonly confinement: Confinement;
  /** Where `tools.shell.network` names hosts. */
  readonly network?: AllowedNetwork | undefined;
}): Promise<McpPool> {
  const { servers, max_task_servers: maxTaskServers, task_server_idle_s: idleS } = config;
  const names = Object.entries(servers).flatMap(([name, server]) => (isTaskServer(server) ? [name] : []));
  const places = names.map(async (name) => {
    const { dir, wrap } = await confinement.serverPlace(name);
    const reached: typeof wrap = (command, args) =>
      throughProxy(wrap, network?.openProxy({ server: name }))(command, args);
    return [name, { dir, wrap: reached }] as const;
  });
  return createMcpPool({
    ...options,
    servers,
    launch: confinement.launch,
    probePlaces: Object.fromEntries(await Promise.all(places)),
    maxTaskServers,
    taskServerIdleMs: idleS * 1000,
    supervise,
  });
}
