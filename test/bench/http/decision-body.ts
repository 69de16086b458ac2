import { randomUUID } from 'node:crypto';

/** A transport of the trader. */
export type DecisionKind = 'jsonrpc' | 'mcp' | 'a2a';

/** Concerns of the trader in `trader-home.ts`: one for each caller, so that the decisions of a concern stay in order. */
export const CONCERNS = 64;

export const accountOf = 'bench';
export const marketOf = (concern: number): string => `m${concern}`;
export const strategyOf = (concern: number): string => `s${concern}`;

/** The decisions of each caller so far. Goes on from one round to the next, since the trader keeps the state of each concern. */
const sent = new Map<number, number>();

/** The next decision of a caller over any transport: its concern is paused and resumed in turn, so every decision is applied. */
function nextDecision(concern: number): Record<string, unknown> {
  const before = sent.get(concern) ?? 0;
  const isPause = before % 2 === 0;
  sent.set(concern, before + 1);
  return {
    decision_id: randomUUID(),
    concern_id: `${accountOf}:${marketOf(concern)}`,
    account_id: accountOf,
    market_symbol: marketOf(concern),
    action: isPause ? 'pause' : 'resume',
    reason: 'a benchmark',
    confidence: 0.8,
    expected_active_strategy_id: strategyOf(concern),
  };
}

interface DecisionRequest {
  readonly path: string;
  readonly body: string;
}

/** The next decision of a caller as a request of this transport. */
export function decisionRequest(kind: DecisionKind, caller: number): DecisionRequest {
  const decision = nextDecision(caller);
  const call = (method: string, params: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  switch (kind) {
    case 'jsonrpc':
      return { path: '/jsonrpc', body: call('apply_control_decision', decision) };
    case 'mcp':
      return {
        path: '/mcp',
        body: call('tools/call', { name: 'apply_control_decision', arguments: decision }),
      };
    case 'a2a': {
      const data = { type: 'CONTROL_DECISION', payload: decision };
      const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data }] };
      return { path: '/jsonrpc', body: call('SendMessage', { message }) };
    }
  }
}
