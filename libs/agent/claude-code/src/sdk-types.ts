import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { JsonObject } from '@hermes-fleet/protocol';

/** The types of the Claude Agent SDK that are used here. The release is `SDK_VERSION` in sdk.ts. */

export interface HookAnswer {
  /** False ends the session after this hook. */
  readonly continue?: boolean;
  readonly stopReason?: string;
  readonly decision?: 'block';
  readonly reason?: string;
  readonly hookSpecificOutput?: {
    readonly hookEventName: HookEvent;
    readonly permissionDecision?: 'allow' | 'deny';
    readonly permissionDecisionReason?: string;
    readonly additionalContext?: string;
    readonly updatedToolOutput?: unknown;
  };
}

export type HookEvent = 'PreToolUse' | 'PostToolUse' | 'PostToolUseFailure' | 'Stop';

export type Hook = (input: unknown) => Promise<HookAnswer>;

/** The subset of ChildProcess that the SDK uses. */
export type Spawned = Pick<
  ChildProcessWithoutNullStreams,
  'stdin' | 'stdout' | 'killed' | 'exitCode' | 'kill' | 'on' | 'once' | 'off'
>;

/** The connection of an MCP server inside this process. */
export interface ServerTransport {
  onmessage?: ((message: unknown) => void) | undefined;
  start(): Promise<void>;
  send(message: JsonObject): Promise<void>;
}

export interface InProcessServer {
  readonly type: 'sdk';
  readonly name: string;
  readonly instance: { connect(transport: ServerTransport): Promise<void>; close(): Promise<void> };
}

/** The options that are set here. */
export interface QueryOptions {
  readonly cwd: string;
  readonly model: string;
  readonly systemPrompt: string;
  readonly permissionMode: 'dontAsk';
  readonly tools: readonly string[];
  readonly allowedTools: readonly string[];
  readonly settingSources: readonly never[];
  readonly strictMcpConfig: true;
  readonly skills: readonly never[];
  readonly verbatimPrompts: true;
  readonly thinking: { readonly type: 'disabled' };
  readonly includePartialMessages: true;
  readonly maxTurns: number;
  readonly settings: { readonly permissions: { readonly deny: readonly string[] } };
  readonly resume?: string;
  readonly sessionId?: string;
  readonly hooks: Readonly<
    Record<
      HookEvent,
      readonly { readonly hooks: readonly Hook[]; readonly timeout: number; readonly onFailure: 'block' }[]
    >
  >;
  readonly mcpServers: Readonly<Record<string, InProcessServer>>;
  readonly env: Readonly<Record<string, string>>;
  readonly stderr?: (text: string) => void;
  spawnClaudeCodeProcess(request: { readonly command: string; readonly args: readonly string[] }): Spawned;
}
