import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CONCERN, running } from '../testing/running.ts';

const deadline = { timeout: 60_000 };

it('an engine that was lost begins anew, and its books go on', deadline, async (t) => {
  let isLost = false;
  const run = await running(t, {
    store: (store) => ({
      saveEngine: store.saveEngine,
      setStatus: store.setStatus,
      lastEntry: store.lastEntry,
      loadEngine: (id) => (isLost ? undefined : store.loadEngine(id)),
    }),
  });
  for (const close of [100, 98.9]) await run.bar(close);
  const saved = (): number => run.store.lastEntry(CONCERN.id);
  isLost = true;
  await run.restart();
  const before = saved();
  await run.bar(100);
  await run.runtime.close();
  const [first] = run.store.books.after(CONCERN.id, before, 1);
  assert.deepEqual([first?.entry['kind'], first?.entry['event']], ['account', 'opened']);
  assert.equal((await run.store.verify()).ok, true);
});
