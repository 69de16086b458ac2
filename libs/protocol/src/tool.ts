import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import type { AdmittedTask, RunContext } from './ports.ts';

/** What a tool call came to. `output` is what the model sees; an error is a result that it can act on. */
export interface ToolResult {
  readonly ok: boolean;
  readonly output: JsonValue;
  /** For the record: which file, command or agent. Never sent to the bus. */
  readonly detail?: string;
  readonly exitCode?: number | null;
}

/** What one call of a tool works with. */
export interface ToolCall
  extends Pick<RunContext, 'signal' | 'stopping' | 'budget' | 'report' | 'park' | 'ask'> {
  /** The task that it is done for: its caller's rights are the tool's (design 3, Rights travel). */
  readonly task: AdmittedTask;
  /** The same for this call after a restart, and for no other call: for ids that must not be made twice. */
  readonly key: string;
  /** What this call has to know after a restart; gone once it has its result. */
  readonly memo: {
    load(): JsonObject | undefined;
    /** Durable when it resolves. */
    save(memo: JsonObject): Promise<void>;
  };
}

/** A tool that a model may call (design 3, Tools). */
export interface Tool<C extends ToolCall = ToolCall> {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of its input. */
  readonly parameters: JsonObject;
  /** Whether it changes anything. */
  readonly mutates: boolean;
  /** Whether a call that a crash cut off is simply made again, with its key and memo; else the model is told. */
  readonly repeatable: boolean;
  /**
   * Bounded in time and output. Throws nothing but the reason of `signal`, and what nobody foresaw; one that is
   * repeatable may also throw the reason of `stopping`: it is called again by the next start.
   */
  run(input: unknown, call: C): Promise<ToolResult>;
}

/** Tools that are there when a run starts. */
export type ToolSource = (task: AdmittedTask, signal: AbortSignal) => Promise<readonly Tool[]>;

/** Agents elsewhere that work can be handed to: fleet peers, and registered A2A agents (libs/fleet has them). */
export interface RemoteAgents {
  list(): readonly { readonly name: string; readonly description: string }[];
  /**
   * Hands work to an agent and waits for what becomes of it, parked. `tokenBudget` is the slice that it may spend; what
   * it spends is counted. A call with the same key is the same work.
   */
  send(
    name: string,
    work: { readonly brief: string; readonly tokenBudget?: number | undefined },
    call: ToolCall,
  ): Promise<ToolResult>;
}

/** A failure that the model is told, in words that it can act on. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** A result that says why a call failed, and what to do instead. */
export function toolFailure(message: string): ToolResult {
  return { ok: false, output: message };
}

export interface ToolDefinition<S extends z.ZodType, C extends ToolCall> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: S;
  readonly mutates: boolean;
  /** Default: whether it changes nothing. */
  readonly repeatable?: boolean;
  run(input: z.output<S>, call: C): Promise<ToolResult>;
}

/** A tool from its schema and its work: wrong input and every ToolError become results. */
export function defineTool<S extends z.ZodType, C extends ToolCall = ToolCall>(
  o: ToolDefinition<S, C>,
): Tool<C> {
  const { name, description, inputSchema, mutates, repeatable = !mutates } = o;
  return {
    name,
    description,
    mutates,
    repeatable,
    parameters: toolParameters(inputSchema),
    async run(raw, call) {
      call.signal.throwIfAborted();
      const parsed = inputSchema.safeParse(raw);
      if (!parsed.success) return toolFailure(`wrong input: ${z.prettifyError(parsed.error)}`);
      try {
        return await o.run(parsed.data, call);
      } catch (error) {
        if (error instanceof ToolError) return toolFailure(error.message);
        throw error;
      }
    },
  };
}

/** A schema as a model is told of it, without what it need not know: it is paid for at every step. */
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
