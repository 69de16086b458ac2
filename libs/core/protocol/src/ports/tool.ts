import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json.ts';
import type { AdmittedTask, RunContext } from './execution.ts';
import { readToolInput, type ToolInput } from './tool-input.ts';

/** The outcome of a tool call. An error is a result too: one that the model can act on. */
export interface ToolResult {
  readonly ok: boolean;
  /** Shown to the model. */
  readonly output: JsonValue;
  /** The file, command or agent, for the record. Never sent to the bus. */
  readonly detail?: string;
  readonly exitCode?: number | null;
}

/** The context of one tool call. */
export interface ToolCall
  extends Pick<RunContext, 'signal' | 'stopping' | 'budget' | 'reportEvent' | 'park' | 'ask' | 'artifacts'> {
  /** The task that makes the call. The tool has the rights of the task's caller, and no others. */
  readonly task: AdmittedTask;
  /** Unique to this call and stable across restarts; a source of idempotent ids. */
  readonly key: string;
  /** State of this call that survives a restart; removed with the call's result. */
  readonly memo: {
    load(): JsonObject | undefined;
    /** Durable when it resolves. */
    save(memo: JsonObject): Promise<void>;
  };
}

/** A tool that a model may call (docs/agent.md#tools). */
export interface Tool<C extends ToolCall = ToolCall> {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of its input. */
  readonly parameters: JsonObject;
  readonly mutates: boolean;
  /** A call interrupted by a crash is repeated with its key and memo; without this, the model is told about it. */
  readonly repeatable: boolean;
  /** Calls may run at the same time as other calls of one answer. Only for repeatable tools; default: `!mutates`. */
  readonly isConcurrent?: boolean;
  /** Understands an input as `run` does. Absent where the input is passed on as it is. */
  readInput?(raw: unknown): ToolInput;
  /**
   * Bounded in time and output. Throws only the reason of `signal` and unforeseen errors. A repeatable tool may also
   * throw the reason of `stopping`; the next start calls it again.
   */
  run(input: unknown, call: C): Promise<ToolResult>;
}

/** Provides tools at the start of a run. */
export type ToolSource = (task: AdmittedTask, signal: AbortSignal) => Promise<readonly Tool[]>;

/** Remote agents that accept delegated work: fleet peers, and registered A2A agents (implemented by libs/fleet/gateway). */
export interface RemoteAgents {
  list(): readonly { readonly name: string; readonly description: string }[];
  /**
   * Delegates work to an agent and waits, parked, for its outcome. `tokenBudget` limits the tokens of the agent; they
   * count against the task's budget. A call with the same key is the same work.
   */
  send(
    name: string,
    work: { readonly brief: string; readonly tokenBudget?: number | undefined },
    call: ToolCall,
  ): Promise<ToolResult>;
}

/** A failure whose message the model sees; the message says how to proceed. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

export function toolFailure(message: string): ToolResult {
  return { ok: false, output: message };
}

export interface ToolDefinition<S extends z.ZodType, C extends ToolCall> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: S;
  readonly mutates: boolean;
  /** Default: `!mutates`. */
  readonly repeatable?: boolean;
  /** Default: `!mutates`. */
  readonly isConcurrent?: boolean;
  /** Other names of parameters that models use, and the tool's own. */
  readonly synonyms?: Readonly<Record<string, string>>;
  /** True where an input that does not fit exactly must not be carried out. */
  readonly isStrict?: boolean;
  run(input: z.output<S>, call: C): Promise<ToolResult>;
}

/**
 * Defines a tool; invalid input and every ToolError become results. An input that does not fit exactly is understood where
 * it has one meaning (`readToolInput`), and the result says so.
 */
export function defineTool<S extends z.ZodType, C extends ToolCall = ToolCall>(
  definition: ToolDefinition<S, C>,
): Tool<C> {
  const { name, description, inputSchema, mutates, repeatable = !mutates, synonyms, isStrict } = definition;
  const parameters = toolParameters(inputSchema);
  const readInput = (raw: unknown): ToolInput => {
    if (isStrict) return { input: raw, notes: [] };
    const read = readToolInput(raw, parameters, synonyms);
    const isEmptied = mutates && hasKeys(raw) && !hasKeys(read.input) && hasKeys(parameters.properties);
    return isEmptied ? { ...read, input: raw, problem: read.notes.join('; ') } : read;
  };
  return {
    name,
    description,
    mutates,
    repeatable,
    isConcurrent: definition.isConcurrent ?? !mutates,
    parameters,
    readInput,
    async run(raw, call) {
      call.signal.throwIfAborted();
      const { input, notes, problem } = readInput(raw);
      if (problem !== undefined) return toolFailure(`wrong input: ${problem}`);
      const parsed = inputSchema.safeParse(input);
      if (!parsed.success)
        return withInputNotes(toolFailure(`wrong input: ${z.prettifyError(parsed.error)}`), notes);
      try {
        return withInputNotes(await definition.run(parsed.data, call), notes);
      } catch (error) {
        if (error instanceof ToolError) return withInputNotes(toolFailure(error.message), notes);
        throw error;
      }
    },
  };
}

/** A change for which none of the given parameters is known would be another one than was meant. */
const hasKeys = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

/** Adds to a result how the input was understood. */
export function withInputNotes(result: ToolResult, notes: readonly string[]): ToolResult {
  if (notes.length === 0) return result;
  const { output } = result;
  const note = `input: ${notes.join('; ')}`;
  if (typeof output === 'string') return { ...result, output: `${output}\n(${note})` };
  if (!isJsonObject(output)) return { ...result, output: { output, note } };
  const before = typeof output.note === 'string' ? `${output.note}\n` : '';
  return { ...result, output: { ...output, note: `${before}${note}` } };
}

/** The JSON Schema that a model sees. Omits what the model does not need, because every step pays for it. */
export function toolParameters(schema: z.ZodType): JsonObject {
  return concise(z.record(z.string(), z.json()).parse(z.toJSONSchema(schema, { io: 'input' })));
}

function concise({ $schema: _dialect, properties = {}, ...schema }: JsonObject): JsonObject {
  const kept = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, property]) => {
    if (!isJsonObject(property) || property.maximum !== Number.MAX_SAFE_INTEGER) return [name, property];
    const { maximum: _unbounded, ...rest } = property;
    return [name, rest];
  });
  return { ...schema, properties: Object.fromEntries(kept) };
}
