import { createHash } from 'node:crypto';

/** What every provider accepts as a tool's name is `[a-zA-Z0-9_-]{1,64}`. */
const MAX_NAME = 64;
const MAX_SERVER = 24;

/** How the names of a server's tools begin, without the `__` behind it. */
export function mcpPrefix(server: string): string {
  const safe = server
    .replace(/[^a-zA-Z0-9-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, MAX_SERVER);
  return `mcp__${safe === server ? server : `${safe.slice(0, MAX_SERVER - 9)}-${digest(server)}`}`;
}

/**
 * The name of a server's tool in the loop, `mcp__<server>__<tool>`. What no provider accepts is replaced, and what is too
 * long is cut: then a digest of the names keeps it apart from others. The same names give the same name.
 */
export function mcpToolName(server: string, tool: string): string {
  const prefix = `${mcpPrefix(server)}__`;
  const safe = tool.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (safe === tool && prefix.length + tool.length <= MAX_NAME) return `${prefix}${tool}`;
  return `${`${prefix}${safe}`.slice(0, MAX_NAME - 9)}_${digest(`${server}\0${tool}`)}`;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
