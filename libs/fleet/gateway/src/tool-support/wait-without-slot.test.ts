import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitWithoutSlot } from './wait-without-slot.ts';

/** A call that records parking and answers questions; `ask` parks by itself. */
function call(answer: (question: string) => Promise<string>) {
  const log: string[] = [];
  let isParked = false;
  const park = async <T>(wait: () => Promise<T>): Promise<T> => {
    assert.equal(isParked, false, 'parked twice');
    isParked = true;
    log.push('park');
    try {
      return await wait();
    } finally {
      isParked = false;
      log.push('back');
    }
  };
  return {
    log,
    park,
    key: '1.0',
    ask: (question: string, { key, signal }: { key: string; signal?: AbortSignal }) =>
      park(() => {
        log.push(`ask ${key} ${question}`);
        const takenBack = new Promise<never>((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
        );
        return Promise.race([answer(question), takenBack]);
      }),
  };
}

describe('waiting without a slot', () => {
  it('lets the work ask on behalf of the call, and keeps waiting', async () => {
    const made = call(async (question) => `${question}!`);
    const answers = await waitWithoutSlot(made, async (ask) => [
      await ask('which', { key: 'a' }),
      await ask('how', { key: 'b' }),
    ]);
    assert.deepEqual(answers, ['which!', 'how!']);
    assert.deepEqual(made.log, [
      ...['park', 'back', 'park', 'ask 1.0/a which', 'back'],
      ...['park', 'back', 'park', 'ask 1.0/b how', 'back'],
      ...['park', 'back'],
    ]);
  });

  for (const how of ['ends', 'takes it back'] as const)
    it(`does not wait for an answer when the work ${how}`, async () => {
      const asked = Promise.withResolvers<void>();
      const made = call(() => {
        asked.resolve();
        return new Promise(() => undefined);
      });
      const value = await waitWithoutSlot(made, async (ask) => {
        const over = new AbortController();
        const given = ask('which', { key: 'a', signal: over.signal });
        await asked.promise;
        if (how === 'ends') return how;
        over.abort(new Error('of no use'));
        await assert.rejects(given, /of no use/);
        return how;
      });
      assert.equal(value, how);
      assert.deepEqual(made.log, ['park', 'back', 'park', 'ask 1.0/a which', 'back', 'park', 'back']);
    });

  it('tells the work that nobody answers, and has its slot again when the work fails', async () => {
    const made = call(() => Promise.reject(new Error('nobody')));
    const work = waitWithoutSlot(made, async (ask) => {
      await assert.rejects(ask('which', { key: 'a' }), /nobody/);
      throw new Error('given up');
    });
    await assert.rejects(work, /given up/);
    assert.equal(made.log.at(-1), 'back');
  });
});
