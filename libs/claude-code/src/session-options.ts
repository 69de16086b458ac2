import type { ConversationOptions, RunResources } from '@hermes-fleet/agent';
import type { ClaudeCalls } from './claude-calls.ts';
import { claudeEnvironment, SESSION_FILES } from './environment.ts';
import type { MeteringProxy } from './metering-proxy.ts';
import { isNative, nameInClaude } from './native-tools.ts';
import type { SessionOptions } from './session.ts';
import { toolServer } from './tool-server.ts';

/** Begins the names by which Claude Code's permissions know our tools. */
const SERVER = 'fleet';

/** What holds for every session (design 3, Claude Code executor). */
const FIXED = {
  permissionMode: 'dontAsk',
  settingSources: [],
  strictMcpConfig: true,
  skills: [],
  verbatimPrompts: true,
  thinking: { type: 'disabled' },
  includePartialMessages: true,
  settings: { permissions: { deny: [`Read(${SESSION_FILES})`] } },
} as const;

/** What Claude Code may do in a run, where it finds its model, and what it is told of the gateway: nothing. */
export function sessionOptions(
  s: {
    /** As Claude Code is told of the model. */
    readonly model: string;
    readonly id: string;
    /** It goes on with a session that there is. */
    readonly resumed: boolean;
    readonly meter: Pick<MeteringProxy, 'url' | 'key'>;
    readonly calls: Pick<ClaudeCalls, 'shown' | 'serve'>;
  },
  o: Pick<ConversationOptions, 'instructions' | 'tools' | 'maxSteps' | 'state'>,
  parts: Pick<RunResources, 'workspace' | 'task' | 'limits'>,
): Pick<SessionOptions, 'env' | 'query'> {
  const native = o.tools.filter(({ name }) => isNative(name)).map(({ name }) => nameInClaude(name));
  return {
    env: claudeEnvironment({
      dir: parts.workspace.dir,
      task: parts.task,
      model: s.model,
      limits: parts.limits,
      address: s.meter.url,
      key: s.meter.key,
    }),
    query: {
      ...FIXED,
      model: s.model,
      systemPrompt: o.instructions,
      tools: native,
      allowedTools: [...native, `mcp__${SERVER}`],
      maxTurns: Math.max(1, o.maxSteps - o.state.step),
      mcpServers: { [SERVER]: toolServer({ name: SERVER, tools: s.calls.shown, call: s.calls.serve }) },
      ...(s.resumed ? { resume: s.id } : { sessionId: s.id }),
    },
  };
}
