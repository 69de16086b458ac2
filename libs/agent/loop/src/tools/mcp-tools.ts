import type { McpPool, McpServerConfig, McpTool } from '@hermes-fleet/mcp';
import { cutTo, isJsonObject, type JsonObject, type JsonValue, parseJson } from '@hermes-fleet/protocol';
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
import type { AllowedNetwork } from '../network/allowed-network.ts';
import { SchemaProblem, type SentSchema, sentSchema } from '../run/sent-schema.ts';
import { inMcpSpan } from '../run/spans.ts';
import { mcpToolName } from './mcp-names.ts';
import { RequiredToolRefused, requiredServers } from './required-tools.ts';

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
const MAX_DESCRIPTION_CHARS = 1_000;
/** The most reasons that are told of what is left out of a server. */
const MAX_NAMED = 20;

interface McpToolsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  /** For the servers of scope `task`, where `tools.shell.network` names hosts. */
  readonly network?: AllowedNetwork | undefined;
}

export interface McpTools {
  /** Those that the servers offer to a task. Throws RequiredToolRefused where none of a required server can be sent. */
  readonly source: (task: AdmittedTask, signal: AbortSignal) => Promise<readonly Tool<McpToolCall>[]>;
  /** Reads what the healthy servers list now, so that `leftOut` knows it before any task. Calls meanwhile share one more reading. */
  examine(): Promise<void>;
  /** The tools that no task is offered, by server: `<tool>: <why>`. */
  leftOut(): ReadonlyMap<string, readonly string[]>;
}

/** A server's list, and what is made of it once. */
interface Offer {
  readonly listed: readonly McpTool[];
  readonly tools: readonly Tool<McpToolCall>[];
  readonly leftOut: readonly string[];
}

/**
 * The tools of all MCP servers, as `mcp__<server>__<tool>` (docs/agent.md#mcp-servers). A server that does not list them in
 * time is left out of a run, and logged. Calls carry `on_behalf_of` and `task_id` in `_meta`.
 */
export function createMcpTools(
  pool: Pick<McpPool, 'health' | 'listTools' | 'callTool'>,
  config: McpToolsConfig,
  options: McpToolsOptions,
): McpTools {
  const servers = config.tools.mcp.enabled
    ? Object.entries(config.mcp.servers).filter(([, { disabled }]) => !disabled)
    : [];
  const offers = new Map<string, Offer>();

  async function source(task: AdmittedTask, signal: AbortSignal): Promise<readonly Tool<McpToolCall>[]> {
    const found = await Promise.all(
      servers.map(async ([server, { caller_scope: scope }]) => {
        if (scope !== undefined && !task.caller.scopes.has(scope)) return [];
        const listed = await list(server, task, signal);
        if (listed === undefined) return [];
        const { tools, leftOut } = offer(server, listed);
        if (tools.length > 0 || leftOut.length === 0 || !requiredServers(task).includes(server)) return tools;
        const detail = `no tool of the required MCP server ${server} can be sent to a model: ${leftOut.join('; ')}`;
        throw new RequiredToolRefused({ kind: 'mcp', name: server, detail, transient: false });
      }),
    );
    const taken = new Set<string>();
    return found.flat().filter(({ name }) => taken.size < taken.add(name).size);
  }

  let reading: Promise<void> | undefined;
  let isDue = false;

  function examine(): Promise<void> {
    isDue = true;
    reading ??= readDue();
    return reading;
  }

  async function readDue(): Promise<void> {
    while (isDue) {
      isDue = false;
      await readAll();
    }
    reading = undefined;
  }

  /** Never rejects. */
  async function readAll(): Promise<void> {
    const healthy = servers.filter(([server]) => pool.health()[server]?.state === 'ok');
    const reads = healthy.map(async ([server]) => {
      try {
        offer(server, await pool.listTools(server));
      } catch (error) {
        options.log.warn({ server, err: error }, 'MCP server does not list its tools');
      }
    });
    await Promise.all(reads);
  }

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

  function offer(server: string, listed: readonly McpTool[]): Offer {
    const known = offers.get(server);
    if (known?.listed === listed) return known;
    const allowed = config.mcp.servers[server]?.tools;
    const wanted = allowed === undefined ? listed : listed.filter(({ name }) => allowed.includes(name));
    const unsendable: string[] = [];
    const sendable = wanted.flatMap((tool) => {
      const sent = sentOf(tool);
      if (typeof sent !== 'string') return [{ ...tool, sent }];
      unsendable.push(`${tool.name.slice(0, 100)}: ${sent}`);
      return [];
    });
    const absent = (allowed ?? []).filter((name) => !listed.some((tool) => tool.name === name));
    const reasons = [
      ...(sendable.length > MAX_TOOLS
        ? [`all above ${MAX_TOOLS} tools: choose by \`tools\` in config.yaml`]
        : []),
      ...absent.map((name) => `${name}: it has no such tool`),
      ...unsendable,
    ];
    const more = reasons.length - MAX_NAMED;
    const leftOut = [...reasons.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])];
    const tools = sendable.slice(0, MAX_TOOLS).map((tool) => toTool(pool, server, tool, options));
    const made = { listed, tools, leftOut };
    offers.set(server, made);
    if (leftOut.length > 0)
      options.log.warn({ server, left_out: leftOut }, 'tools of an MCP server left out');
    return made;
  }

  return {
    source,
    examine,
    leftOut: () => new Map([...offers].map(([server, { leftOut }]) => [server, leftOut])),
  };
}

const UNKNOWN = { state: 'error', checkedAt: 1, detail: 'unknown to the pool' } as const;

/** The form of a tool's schema that a model is sent, or the reason why it cannot be sent. */
function sentOf({ inputSchema }: McpTool): SentSchema | string {
  try {
    return sentSchema(inputSchema);
  } catch (error) {
    if (error instanceof SchemaProblem) return error.message;
    throw error;
  }
}

function toTool(
  pool: Pick<McpPool, 'callTool'>,
  server: string,
  tool: McpTool & { readonly sent: SentSchema },
  { tracing, network }: McpToolsOptions,
): Tool<McpToolCall> {
  const { description = '', sent, readOnly } = tool;
  const said = description.trim();
  return {
    name: mcpToolName(server, tool.name),
    description: cutTo(said, MAX_DESCRIPTION_CHARS) || tool.name,
    parameters: sent.schema,
    mutates: !readOnly,
    repeatable: readOnly,
    async run(raw, { task, signal, stopping, workspace }) {
      const input = readInput(raw, sent);
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

/** The server checks the input by its whole schema. */
function readInput(raw: unknown, { isWrapped, schema }: SentSchema): JsonObject | undefined {
  const { data } = z.json().safeParse(raw);
  if (!isJsonObject(data)) return undefined;
  const inner = typeof data.input === 'string' ? parseJson(data.input) : data.input;
  if (!isWrapped || Object.keys(data).length > 1 || !isJsonObject(inner)) return data;
  const { input } = isJsonObject(schema.properties) ? schema.properties : {};
  // A model may leave the wrapper out, also where an alternative has a field of that name.
  return !fitsOne(inner, input) && fitsOne(data, input) ? data : inner;
}

/** True where an alternative of this schema has all fields of the value, which has all that it requires. */
function fitsOne(value: JsonObject, wrapper: JsonValue | undefined): boolean {
  const alternatives = isJsonObject(wrapper) && Array.isArray(wrapper.anyOf) ? wrapper.anyOf : [];
  return alternatives.filter(isJsonObject).some(({ properties, required }) => {
    const fields = isJsonObject(properties) ? properties : {};
    const needed = Array.isArray(required) ? required : [];
    return (
      Object.keys(value).every((name) => Object.hasOwn(fields, name)) &&
      needed.every((name) => Object.hasOwn(value, String(name)))
    );
  });
}
