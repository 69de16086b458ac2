import type { ConsoleState, LifecycleEvent } from '@hermes-fleet/protocol';
import type { ContentDocument } from '../../src/http/content.ts';
import type { TaskDocument, TaskNode, TimelineEntry } from '../../src/http/task-page.ts';
import type { TaskRow } from '../../src/http/task-row.ts';

/** Markup that an agent or a caller could write. It must stay text wherever it is shown. */
export const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>';

const CALLERS = ['operator', 'ci', 'nightly'];
const PEERS = ['neo', 'morpheus', 'trinity'];
const STATES: readonly ConsoleState[] = [
  'running',
  'running',
  'queued',
  'waiting',
  'input_required',
  'done',
  'done',
  'blocked',
  'error',
  'done',
  'partial',
  'canceled',
];
const NAMES = [
  'refactor-auth-module',
  'nightly-dependency-review',
  'flight-7',
  'summarize-incident-4411',
  'which-region',
  'haiku',
  'release-notes-2.4',
  'nobody-has-it',
  'migrate-ledger',
  'port-parser-tests',
  'translate-handbook',
  'probe',
];
const REASONS: Partial<Record<ConsoleState, string>> = { blocked: 'mcp', error: 'model_failed' };

/** An id as the fleet makes them. */
export const idOf = (n: number): string => `01a20034-523e-7a0c-8f8e-${n.toString(16).padStart(12, '0')}`;

const before = (now: number, s: number): string => new Date(now - s * 1000).toISOString();

/** `count` rows, newest first. */
export function taskRows(now: number, count = 12): TaskRow[] {
  return Array.from({ length: count }, (_, at) => taskRow(now, at));
}

function taskRow(now: number, at: number): TaskRow {
  const state = STATES[at % STATES.length] ?? 'done';
  const ended = ['done', 'partial', 'blocked', 'error', 'canceled'].includes(state);
  const waits = state === 'queued' || state === 'waiting';
  const age = 20 + at * 47;
  const budget = at % 4 === 3 ? null : ([4000, 20_000, 60_000][at % 3] ?? 4000);
  return {
    profile: 'switch',
    id: idOf(at + 1),
    task_id: NAMES[at] ?? `task-${at}`,
    context_id: idOf(1000 + Math.floor(at / 3)),
    caller: CALLERS[at % 3] ?? 'operator',
    state,
    peer: state === 'blocked' || waits ? null : (PEERS[at % 3] ?? null),
    tool: state === 'running' ? (at % 2 === 0 ? 'terminal' : 'read_file') : null,
    priority: ['normal', 'high', 'low', 'urgent'][at % 4] ?? null,
    spent_tokens: state === 'blocked' || waits ? 0 : at === 8 ? 21_480 : 1200 + at * 731,
    budget_tokens: at === 8 ? 20_000 : budget,
    submitted_at: before(now, age),
    started_at: waits || state === 'blocked' ? null : before(now, age - 1),
    ended_at: ended ? before(now, age - 15) : null,
    deadline: at % 2 === 0 ? before(now, age - 180) : null,
    reason: REASONS[state] ?? null,
    reroutes: at === 6 ? 1 : 0,
    cost: at % 3 === 0 ? null : 0.0123 * (at + 1),
  };
}

const usage = {
  input_tokens: 9200,
  output_tokens: 1480,
  cache_read_tokens: 3100,
  cache_write_tokens: 400,
  reasoning_tokens: 620,
};

function node(row: TaskRow, change: Partial<TaskNode> = {}): TaskNode {
  return {
    profile: row.profile,
    id: row.id,
    task_id: row.task_id,
    state: row.state,
    model: 'claude-sonnet-4',
    model_tier: 'sonnet',
    own_tokens: 240,
    delegated_tokens: row.spent_tokens,
    budget_tokens: row.budget_tokens,
    usage,
    cost: row.cost,
    started_at: row.started_at,
    ended_at: row.ended_at,
    parts: [],
    ...change,
  };
}

/** The page of a row: relayed to a peer that sent a part on. */
export function taskDocument(row: TaskRow): TaskDocument {
  const at = Date.parse(row.submitted_at);
  const entry = (
    afterMs: number,
    profile: string,
    type: LifecycleEvent,
    text: string,
    data = {},
  ): TimelineEntry => ({
    at: new Date(at + afterMs).toISOString(),
    profile,
    id: row.id,
    type,
    text,
    data,
  });
  const part = node(row, {
    profile: 'trinity',
    id: idOf(502),
    task_id: `${row.task_id}.p1`,
    model: 'claude-opus-4',
    model_tier: 'opus',
    own_tokens: 3120,
    delegated_tokens: 0,
    cost: 0.0931,
  });
  const worker = node(row, {
    profile: 'morpheus',
    id: idOf(501),
    own_tokens: 5170,
    delegated_tokens: 3120,
    parts: [part],
  });
  const considered = [
    { peer: 'morpheus', verdict: 'chosen', score: 101, reasons: ['preferred tier'] },
    { peer: 'trinity', verdict: 'eligible', score: 86, reasons: ['one tier above the preferred one'] },
    { peer: 'neo', verdict: 'excluded', score: 0, reasons: ['mcp_not_healthy', 'tier_below_minimum'] },
  ];
  return {
    task: row,
    attempts: [
      { at: entry(40, '', 'alert', '').at, peer: 'neo', considered: [], status: 'blocked', reason: 'mcp' },
      {
        at: entry(90, '', 'alert', '').at,
        peer: 'morpheus',
        considered,
        status: row.ended_at === null ? null : row.state,
        reason: null,
      },
    ],
    timeline: [
      entry(0, 'switch', 'submitted', 'operator sent the task with a budget of 20,000 tokens.', {
        priority: 'normal',
        budget_tokens: 20_000,
        repository: { name: 'docs', base: 'release/1.2' },
        required_mcp: ['filesystem', 'memory'],
        required_capabilities: ['file', 'repository:docs'],
        min_tier: 'sonnet',
        min_context_window: 32_000,
        reply_schema: 'structured',
        on_blocked: 'fail',
        deadline: new Date(Date.parse(row.submitted_at) + 90_000).toISOString(),
      }),
      entry(8, 'switch', 'queued', 'The task is admitted and queued.', { lane: 'relay', priority: 'normal' }),
      entry(40, 'switch', 'delegated', 'neo was chosen.', { peer: 'neo', attempt: 1 }),
      entry(90, 'switch', 'rerouted', 'neo refused (mcp), and morpheus was chosen.', {
        from: 'neo',
        to: 'morpheus',
        reason: 'mcp',
      }),
      entry(120, 'morpheus', 'started', 'morpheus began with claude-sonnet-4.', {
        model: 'claude-sonnet-4',
        model_tier: 'sonnet',
      }),
      entry(2400, 'morpheus', 'progress', 'Step 1 called terminal.', {
        step: 1,
        tool: 'terminal',
        phase: 'started',
      }),
      entry(2450, 'switch', 'progress', 'morpheus: terminal runs', {
        peer: 'morpheus',
        tool: 'terminal',
        phase: 'started',
      }),
      entry(4700, 'morpheus', 'progress', 'terminal failed after 2.3 s.', {
        tool: 'terminal',
        phase: 'ended',
        ok: false,
        duration_ms: 2300,
      }),
      entry(4710, 'morpheus', 'progress', 'The guard "repeated_call" warned.', {
        guard: 'repeated_call',
        level: 'warn',
      }),
      entry(6100, 'morpheus', 'delegated', 'A part was sent to trinity.', {
        peer: 'trinity',
        part: `${row.task_id}.p1`,
      }),
      entry(9800, 'trinity', 'done', 'trinity finished the part with 3,120 tokens.', { tokens_spent: 3120 }),
      entry(11_500, 'morpheus', 'progress', `A tool with the name ${MARKUP} was called.`, { tool: MARKUP }),
    ],
    truncated: false,
    tree: node(row, { parts: [worker] }),
    parent: null,
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  };
}

export function contentDocument(row: TaskRow): ContentDocument {
  return {
    brief: `Refactor the auth module. Focus on token refresh.\n\n${MARKUP}`,
    result:
      row.ended_at === null
        ? null
        : {
            status: row.state,
            text: `Token refresh is a function of its own. ${MARKUP}`,
            artifacts: { files_changed: ['src/auth/refresh.py', `src/${MARKUP}.py`] },
            next_steps: [`Run the whole suite ${MARKUP}`],
            evidence: [{ kind: 'command', detail: 'pytest tests/auth', exit_code: 0 }],
          },
    text: null,
    question: row.state === 'input_required' ? `Which region? ${MARKUP}` : null,
    artifacts: [
      {
        name: `report ${MARKUP}.md`,
        media_type: 'text/markdown',
        bytes: 2140,
        text: `# Report ${MARKUP}`,
        href: `/api/tasks/switch/${row.id}/artifacts/report`,
      },
    ],
  };
}
