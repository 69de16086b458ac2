import { createHash } from 'node:crypto';

/** Every provider accepts tool names that match `[a-zA-Z0-9_-]{1,64}`. */
const MAX_NAME = 64;
const MAX_SERVER = 24;

/** The common prefix of the names of a server's tools, without the `__` after it. */
export function mcpPrefix(server: string): string {
  const safe = server
    .replace(/[^a-zA-Z0-9-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, MAX_SERVER);
  return `mcp__${safe === server ? server : `${safe.slice(0, MAX_SERVER - 9)}-${digest(server)}`}`;
}

/** `mcp__<server>__<tool>`: invalid characters replaced, long names cut, kept unique by a digest. Deterministic. */
export function mcpToolName(server: string, tool: string): string {
  const prefix = `${mcpPrefix(server)}__`;
  const safe = tool.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (safe === tool && prefix.length + tool.length <= MAX_NAME) return `${prefix}${tool}`;
  return `${`${prefix}${safe}`.slice(0, MAX_NAME - 9)}_${digest(`${server}\0${tool}`)}`;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
