import type { JsonObject } from '@hermes-fleet/protocol';
import type {
  AdmittedTask,
  Budget,
  Clock,
  Log,
  RunContext,
  Tool,
  ToolCall,
  Tracing,
} from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles, Workspace } from '@hermes-fleet/workspace';
import type { AgentConfig } from '../config/config-yaml.ts';
import type { WrapUpReason } from '../messages/follow-up-prompts.ts';
import type { MeasuredCall } from '../model/call/measured-call.ts';
import type { AgentModel } from '../model/create-model.ts';
import type { Guards } from './guards.ts';
import type { ConversationState, GuardStop, JournalEntry } from './run-state.ts';

export interface Observation {
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  readonly onGuard?: ((guard: string, level: string) => void) | undefined;
  /** Called after each metered model call with the provider's input token count divided by our estimate. */
  readonly onTokenDrift?: ((ratio: number) => void) | undefined;
  readonly onCompaction?: ((stage: CompactionStage) => void) | undefined;
  /** Called when a call of the model, or of a fallback, has ended, whoever made it. */
  readonly onModelCall?: ((call: MeasuredCall) => void) | undefined;
}

export interface RunResources
  extends Observation,
    Pick<RunContext, 'budget' | 'signal' | 'stopping' | 'park' | 'ask' | 'reportEvent' | 'artifacts'> {
  readonly task: AdmittedTask;
  readonly model: AgentModel;
  readonly limits: AgentConfig['limits'];
  readonly hooks: AgentConfig['hooks'];
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  readonly clock: Clock;
}

/** How a conversation was made shorter (docs/agent.md#long-conversations). */
export type CompactionStage = 'prune' | 'cut' | 'summary';

export interface ConversationOptions {
  readonly state: ConversationState;
  /** Prefix of the call keys, unique among the conversations of a run. */
  readonly key: string;
  save(): Promise<void>;
  readonly instructions: string;
  readonly tools: readonly AgentTool[];
  readonly maxSteps: number;
  /** A slice of the run's budget; default: the run's budget. */
  readonly budget?: Budget;
  /** Tokens of the budget that this conversation must not spend. */
  readonly keepTokens: number;
  /** Renders the prompt for the end of the budget, of the steps or of the context window. */
  readonly wrapUpPrompt: (reason: WrapUpReason) => string;
  /** Added to the data of its progress events. */
  readonly progressFields: JsonObject;
  readonly streamsText: boolean;
  /** True when the start is saved before the first call: a restart continues it, and does not begin another. Default false. */
  readonly savesStart?: boolean;
}

export type CreateConversation = (options: ConversationOptions, resources: RunResources) => Conversation;

export interface Conversation {
  /** Runs to the model's end; false when a limit or a guard ends it before. All state is durable before each model call. */
  runToEnd(): Promise<boolean>;
  /** Prompts a model that has finished; the next `runToEnd` saves the prompt, and continues. */
  followUp(message: string, tools: 'on' | 'off'): void;
  /** Resolves with true when so many more steps, each with this prompt and a short answer, fit into every limit. */
  canAfford(steps: number, prompt?: string): Promise<boolean>;
  inputTokens(): Promise<number>;
  readonly guards: Guards;
  /** The guard that ended it: it takes no further step, except to answer a follow-up prompt without tools. */
  guardStop(): GuardStop | undefined;
  /** Ends its processes; it takes no further step. Absent when there are none. */
  close?(): Promise<void>;
}

export interface ToolContext extends ToolCall {
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  readonly conversation: CallingConversation;
  /** True where `budget` is the share of this call, which runs at the same time as other delegations. */
  readonly isShare: boolean;
  /** Creates a conversation inside this run, with its workspace and its checkpoint (by the call's memo). */
  converse(options: Omit<ConversationOptions, 'key'>): Conversation;
}

/** The calling conversation, as a tool sees it. */
interface CallingConversation {
  readonly tools: readonly AgentTool[];
  inputTokens(): Promise<number>;
  /** Records evidence and writes in its journal, before the call itself; durable with the call's result. */
  record(entries: readonly JournalEntry[]): void;
}

/** A tool of the loop. External tools (`Tool<ToolCall>`) are assignable to it. */
export type AgentTool = Tool<ToolContext>;
