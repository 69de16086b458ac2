import { reasonInEvent } from '@hermes-fleet/peers';
import type { AttemptConsidered, Unmet } from '@hermes-fleet/protocol/handshake';
import { inSpan, type RunOutcome, type Tracing } from '@hermes-fleet/protocol/ports';
import { unmetKinds } from './blocked-outcome.ts';
import type { Delegation } from './delegation/delegation.ts';
import type { RelayedRun } from './relayed-run.ts';

/** Selects the next peer in a span, which says why each peer was or was not chosen (docs/traces.md#spans). */
export function inRouteSpan(
  tracing: Tracing | undefined,
  { task, state }: RelayedRun,
  select: (traceparent: string | undefined) => Promise<Delegation | RunOutcome>,
): Promise<Delegation | RunOutcome> {
  if (tracing === undefined) return select(task.traceparent);
  const attributes = { 'hermes.task.id': task.id, 'hermes.route.refusals': state.refusals.length };
  return inSpan(tracing, 'route', { parent: task.traceparent, attributes }, async (span) => {
    const selected = await select(span?.traceparent);
    if ('status' in selected)
      span?.set({
        'hermes.route.outcome': selected.status,
        'hermes.route.unmet': unmetKinds(selected.unmet ?? []),
      });
    else
      span?.set({
        'hermes.route.outcome': 'placed',
        'hermes.peer': selected.peer,
        'hermes.route.considered': selected.considered?.map(explained),
      });
    return selected;
  });
}

const explained = ({ peer, verdict, reasons }: AttemptConsidered): string =>
  [`${peer}: ${verdict}`, ...reasons.map(reasonInEvent)].join('; ');

/** Waits for a slot at a peer in a span, which says what the task waited for, and if it found a place. */
export function inWaitSpan<T extends object | string>(
  {
    tracing,
    traceparent: parent,
  }: { readonly tracing?: Tracing | undefined; readonly traceparent?: string | undefined },
  unmet: readonly Unmet[],
  wait: () => Promise<T>,
): Promise<T> {
  if (tracing === undefined) return wait();
  const attributes = { 'hermes.wait.for': unmetKinds(unmet) };
  return inSpan(tracing, 'wait for a peer', { parent, attributes }, async (span) => {
    const found = await wait();
    span?.set({ 'hermes.wait.outcome': typeof found === 'string' ? found : 'placed' });
    return found;
  });
}
