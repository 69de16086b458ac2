import { writeSync } from 'node:fs';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { openControlStore } from '../../src/store/sqlite-store.ts';
import { applyOf, CONCERN, decided, failedFrom, GRID, payload, SEED, switchTo, TREND } from './harness.ts';

/**
 * Child process of the crash test: eight flows decide in an endless loop and print each acknowledgment:
 * `<status> <decision_id> <audit seq>`, `settled <decision_id>`, `compensated <decision_id> <rev>`, `advanced <seq>`.
 */
const silent = (): void => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const [, , file = '', round = ''] = process.argv;
const store = openControlStore({ file, service: 'trader', clock: systemClock, ids: systemIds, log });
const print = (...words: (string | number | undefined)[]) => writeSync(1, `${words.join(' ')}\n`);
await store.seed(...SEED);

/** Serializes applies, as the decision service does. */
let busy = false;

async function flow(name: number): Promise<never> {
  for (let n = 0; ; n += 1) {
    const decision_id = `${round}-${name}-${n}`;
    if (name % 4 > 0 || busy) {
      const { verdict, auditSeq } = await decided(
        store,
        payload({ decision_id, dry_run: n % 2 === 0, action: 'resume' }),
      );
      print(verdict.response.status, decision_id, auditSeq, verdict.response.dryRun ? 'dry' : 'real');
      if (verdict.next) await store.settle(applyOf({ verdict, auditSeq }), verdict.response);
      continue;
    }
    busy = true;
    await change(decision_id, n);
    busy = false;
  }
}

async function change(decision_id: string, n: number): Promise<void> {
  const before = store.concern(CONCERN.id);
  if (before === undefined) throw new Error('the concern is gone');
  const target = before.activeStrategyId === GRID ? TREND : GRID;
  const written = await decided(store, switchTo(target, { decision_id, reason: 'x'.repeat(700) }));
  const { response } = written.verdict;
  print(response.status, decision_id, written.auditSeq, 'real');
  if (response.status !== 'applied') return;
  if (n % 3 === 0) {
    const { rev } = await store.compensate(applyOf(written), before, failedFrom(response));
    print('compensated', decision_id, rev);
  } else {
    void store.saveEngine(CONCERN.id, { decision_id }, []);
    await store.settle(applyOf(written), response);
    print('settled', decision_id);
  }
  const last = store.outbox.read(0, 1000).at(-1)?.seq ?? 0;
  if (last > 0) await store.outbox.advance(last);
  print('advanced', last);
}

await Promise.all(Array.from({ length: 8 }, (_, name) => flow(name)));
