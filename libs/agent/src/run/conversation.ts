import type {
  AdmittedTask,
  Budget,
  Clock,
  JsonObject,
  Log,
  RunContext,
  Tool,
  ToolCall,
} from '@hermes-fleet/protocol';
import type { AnchoredFiles, Workspace } from '@hermes-fleet/workspace';
import type { AgentConfig } from '../config/config.ts';
import type { AgentModel } from '../model/create-model.ts';
import type { GuardStop } from './guard-state.ts';
import type { Guards } from './guards.ts';
import type { ConversationState, JournalEntry } from './run-state.ts';

/** What all conversations of a run share. */
export interface RunResources extends Pick<RunContext, 'park' | 'ask'> {
  readonly task: AdmittedTask;
  readonly model: AgentModel;
  readonly limits: AgentConfig['limits'];
  readonly hooks: AgentConfig['hooks'];
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  readonly budget: Budget;
  readonly signal: AbortSignal;
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly report: RunContext['report'];
  readonly onGuard?: ((guard: string, level: string) => void) | undefined;
  readonly onTokenDrift?: ((ratio: number) => void) | undefined;
}

export interface ConversationOptions {
  readonly state: ConversationState;
  /** Begins the keys of its calls: no two conversations of a run have the same. */
  readonly key: string;
  /** Makes the whole run durable as it stands, this conversation included. */
  save(): Promise<void>;
  readonly instructions: string;
  readonly tools: readonly AgentTool[];
  readonly maxSteps: number;
  /** Instead of the run's: a slice of it. */
  readonly budget?: Budget;
  /** Tokens of the budget that are not this conversation's to spend. */
  readonly keepTokens: number;
  /** What tells the model that the budget is nearly spent. */
  readonly wrapUpPrompt: (leftTokens: number) => string;
  /** What its progress events say beside the usual. */
  readonly progressFields: JsonObject;
  /** Whether its text is the caller's to see. */
  readonly streamsText: boolean;
}

export interface Conversation {
  /** Lets the model work until it has finished; false when it may take no further step. */
  runToEnd(): Promise<boolean>;
  /** Asks something of a model that has finished; it goes on at the next `toEnd`. Not durable before the next save. */
  followUp(message: string, tools: 'on' | 'off'): void;
  /** Whether this many more steps, the question before them and a short answer to each, fit into all the limits. */
  canAfford(steps: number, question?: string): Promise<boolean>;
  /** The estimate of what the next step sends. */
  inputTokens(): Promise<number>;
  readonly guards: Guards;
  /** The guard that has ended it: it takes no further step, but to answer a last question without tools. */
  guardStop(): GuardStop | undefined;
  /** Ends what still runs for it; it takes no further step. Without it there is nothing to end. */
  close?(): Promise<void>;
}

/** What one call of an agent's own tool works with. */
export interface ToolContext extends ToolCall {
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  /** The conversation that called. */
  readonly conversation: CallingConversation;
  /** A conversation inside this run: its budget, its workspace, its checkpoint (by the call's memo). */
  converse(options: Omit<ConversationOptions, 'key'>): Conversation;
}

/** What a tool may know of the conversation that calls it, and do to it. */
export interface CallingConversation {
  /** What it was offered. */
  readonly tools: readonly AgentTool[];
  /** The estimate of what its next step sends. */
  inputTokens(): Promise<number>;
  /**
   * Puts what was done on its behalf into its journal, ahead of the call itself: evidence, and writes that it has to
   * verify. Durable with the call's result.
   */
  record(entries: readonly JournalEntry[]): void;
}

/** A tool as the loop sees it; one that is offered from outside (`Tool<ToolCall>`) is one too. */
export type AgentTool = Tool<ToolContext>;
