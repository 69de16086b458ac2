import type { McpPool, McpServerConfig, McpTool } from '@hermes-fleet/mcp';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import {
  type AdmittedTask,
  type Clock,
  type Log,
  raceSignal,
  type Tool,
  type ToolCall,
  type Tracing,
  taskFields,
  toolFailure,
} from '@hermes-fleet/protocol/ports';
import { throughProxy, type Workspace } from '@hermes-fleet/workspace';
import { z } from 'zod';
import { cutTo } from '../messages/text.ts';
import type { AllowedNetwork } from '../network/allowed-network.ts';
import { inMcpSpan } from '../run/spans.ts';
import { mcpToolName } from './mcp-names.ts';

interface McpToolsConfig {
  readonly mcp: { readonly servers: Readonly<Record<string, McpServerConfig>> };
  readonly tools: { readonly mcp: { readonly enabled: boolean } };
}

/** A call of the loop: the context's tree is where an instance of a server of scope `task` runs. */
export interface McpToolCall extends ToolCall {
  readonly workspace: Pick<Workspace, 'dir' | 'wrap'>;
}

/** Longest waits for a server's list; the longer one if the task requires it, or may have used it before a restart. */
const WAIT_MS = 2_000;
const PATIENT_MS = 10_000;
const CALL_MS = 120_000;
const MAX_TOOLS = 100;
const MAX_SCHEMA_CHARS = 16_000;
const MAX_SCHEMA_DEPTH = 32;
const MAX_DESCRIPTION_CHARS = 1_000;

interface McpToolsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  /** For the servers of scope `task`, where `tools.shell.network` names hosts. */
  readonly network?: AllowedNetwork | undefined;
}

/**
 * The tools of all MCP servers, as `mcp__<server>__<tool>` (docs/agent.md#mcp-servers). A server that does not list them in
 * time is left out of a run, and logged. Calls carry `on_behalf_of` and `task_id` in `_meta`.
 */
export function mcpToolSource(
  pool: Pick<McpPool, 'health' | 'listTools' | 'callTool'>,
  config: McpToolsConfig,
  options: McpToolsOptions,
): (task: AdmittedTask, signal: AbortSignal) => Promise<readonly Tool<McpToolCall>[]> {
  const { servers } = config.mcp;
  if (!config.tools.mcp.enabled) return async () => [];
  return async (task, signal) => {
    const found = await Promise.all(
      Object.entries(servers).map(async ([server, { disabled, caller_scope: scope, tools: allowed }]) => {
        if (disabled || (scope !== undefined && !task.caller.scopes.has(scope))) return [];
        const listed = await list(server, task, signal);
        return listed === undefined ? [] : offer(server, listed, allowed, task);
      }),
    );
    const taken = new Set<string>();
    return found.flat().filter(({ name }) => taken.size < taken.add(name).size);
  };

  /** Returns undefined, and logs why, when the server cannot list its tools now. */
  async function list(server: string, task: AdmittedTask, signal: AbortSignal) {
    const isRequired = task.dispatch.requirements?.requiredMcp?.includes(server) ?? false;
    const { state, checkedAt, detail } = pool.health()[server] ?? UNKNOWN;
    try {
      if (state !== 'ok' && checkedAt !== 0 && !isRequired) throw new Error(detail);
      const waitMs = isRequired || task.resumes > 0 ? PATIENT_MS : WAIT_MS;
      const late = new AbortController();
      const tooLate = new Error(`it did not list its tools within ${waitMs} ms`);
      using _limit = options.clock.timer(() => late.abort(tooLate), waitMs);
      return await raceSignal(pool.listTools(server), AbortSignal.any([signal, late.signal]));
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      const fields = { ...taskFields(task), server, reason };
      options.log.warn(fields, 'MCP server unavailable; its tools are not offered');
      return undefined;
    }
  }

  function offer(
    server: string,
    listed: readonly McpTool[],
    allowed: readonly string[] | undefined,
    task: AdmittedTask,
  ): Tool<McpToolCall>[] {
    const wanted = allowed === undefined ? listed : listed.filter(({ name }) => allowed.includes(name));
    const tools = wanted.filter((tool) => problemOf(tool) === undefined).slice(0, MAX_TOOLS);
    const leftOut = [
      ...wanted.flatMap((tool) => problemOf(tool) ?? []),
      ...(wanted.length > MAX_TOOLS
        ? [`all above ${MAX_TOOLS} tools: choose by \`tools\` in config.yaml`]
        : []),
      ...(allowed ?? []).flatMap((name) =>
        listed.some((tool) => tool.name === name) ? [] : `${name}: it has no such tool`,
      ),
    ];
    if (leftOut.length > 0)
      options.log.warn(
        { ...taskFields(task), server, left_out: leftOut.slice(0, 20) },
        'tools of an MCP server left out',
      );
    return tools.map((tool) => toTool(pool, server, tool, options));
  }
}

const UNKNOWN = { state: 'error', checkedAt: 1, detail: 'unknown to the pool' } as const;

function problemOf({ name, inputSchema }: McpTool): string | undefined {
  const shown = name.slice(0, 100);
  if (depth(inputSchema) > MAX_SCHEMA_DEPTH)
    return `${shown}: its schema is nested deeper than ${MAX_SCHEMA_DEPTH}`;
  const { length } = JSON.stringify(inputSchema);
  return length > MAX_SCHEMA_CHARS ? `${shown}: its schema takes ${length} characters` : undefined;
}

/** Measures the nesting depth; stops one level below the limit, which bounds the cost. */
function depth(value: JsonValue, level = 0): number {
  if (typeof value !== 'object' || value === null || level > MAX_SCHEMA_DEPTH) return level;
  return Object.values(value).reduce<number>((most, inner) => Math.max(most, depth(inner, level + 1)), level);
}

function toTool(
  pool: Pick<McpPool, 'callTool'>,
  server: string,
  tool: McpTool,
  { tracing, network }: McpToolsOptions,
): Tool<McpToolCall> {
  const { description = '', inputSchema, readOnly } = tool;
  const said = description.trim();
  return {
    name: mcpToolName(server, tool.name),
    description: cutTo(said, MAX_DESCRIPTION_CHARS) || tool.name,
    parameters: inputSchema,
    mutates: !readOnly,
    repeatable: readOnly,
    async run(raw, { task, signal, stopping, workspace }) {
      const input = readInput(raw);
      if (input === undefined) return toolFailure('wrong input: it must be an object');
      const who = { context_id: task.contextId, server };
      const call = (traceparent: string | undefined) =>
        pool.callTool(server, tool.name, input, {
          // A stop need not wait for a call that can be repeated.
          signal: readOnly ? AbortSignal.any([signal, stopping]) : signal,
          timeoutMs: CALL_MS,
          place: {
            context: task.contextId,
            dir: workspace.dir,
            wrap: (command, args) => throughProxy(workspace.wrap, network?.openProxy(who))(command, args),
          },
          meta: {
            on_behalf_of: task.caller.name,
            task_id: task.id,
            ...(traceparent !== undefined && { traceparent }),
          },
        });
      const { isError, content } = await inMcpSpan({ task, tracing }, server, tool.name, call);
      return { ok: !isError, output: content, detail: `${server}: ${tool.name}` };
    },
  };
}

function readInput(raw: unknown): JsonObject | undefined {
  const parsed = z.json().safeParse(raw);
  return parsed.success && isJsonObject(parsed.data) ? parsed.data : undefined;
}
