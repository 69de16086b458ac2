import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { program } from '@hermes-fleet/installation';
import type { McpServerConfig, StdioServerConfig } from './config.ts';
import type { ServerLine } from './server-process.ts';

type Shipped = 'filesystem' | 'memory';

/** The command that stands for a server that is part of the program (docs/agent.md#mcp-servers). */
const commandOf = (name: Shipped) => `fleet-mcp-${name}` as const;

/** The command line of a server; a shipped one is run by the Node.js that runs this process. */
export function lineOf({ command, args = [] }: Pick<StdioServerConfig, 'command' | 'args'>): ServerLine {
  const shipped = (['filesystem', 'memory'] as const).find((name) => commandOf(name) === command);
  if (shipped === undefined) return { command, args };
  return { command: process.execPath, args: [program(`mcp-${shipped}`), ...args] };
}

const FILE = /(?:^|\/)node_modules\/@modelcontextprotocol\/server-(filesystem|memory)\/dist\/index\.js$/;

/** An entry that starts a shipped server by its name, in place of one that starts it by the path of a file that is not there. */
export interface Replacement {
  readonly missing: string;
  readonly server: StdioServerConfig;
}

/** Releases up to 0.2.0 configured the shipped servers as `node` with the file of their npm package. */
export function replaceMissing(server: McpServerConfig): Replacement | undefined {
  if ('url' in server || basename(server.command) !== 'node') return undefined;
  const [missing = '', ...args] = server.args ?? [];
  const [, name] = FILE.exec(missing) ?? [];
  if ((name !== 'filesystem' && name !== 'memory') || existsSync(missing)) return undefined;
  return { missing, server: { ...server, command: commandOf(name), args } };
}
