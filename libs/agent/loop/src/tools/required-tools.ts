import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask } from '@hermes-fleet/protocol/ports';
import { mcpPrefix } from './mcp-names.ts';

/** The MCP servers that a dispatch requires by name, and the one that provides the capability `browser`. */
export function requiredServers({ dispatch }: AdmittedTask): string[] {
  const { requiredCapabilities = [], requiredMcp = [] } = dispatch.requirements ?? {};
  return [...requiredMcp, ...requiredCapabilities.filter((name) => name === 'browser')];
}

/** The server that a dispatch requires, and whose tool this is. */
export const requiredServerOf = (tool: string, task: AdmittedTask): string | undefined =>
  requiredServers(task).find((server) => tool.startsWith(`${mcpPrefix(server)}__`));

/** A task cannot be done here, because its model cannot be sent a tool, or no tool, of a server that its dispatch requires. */
export class RequiredToolRefused extends Error {
  override readonly name = 'RequiredToolRefused';
  readonly unmet: Unmet;

  constructor(unmet: Unmet, cause?: unknown) {
    super(unmet.detail, { cause });
    this.unmet = unmet;
  }
}
