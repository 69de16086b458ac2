import type { TestContext } from 'node:test';
import { attemptOf, decided, openSeeded, payload, refusedFrom, type TestStore } from './harness.ts';

export const RECORDS = 10;

/** A chain of ten records: a seed, and decisions; the third has a payload with a replacement character. */
export async function openChain(t: TestContext): Promise<TestStore> {
  const test = await openSeeded(t);
  const { response } = (await decided(test.store, payload())).verdict;
  await test.store.refuse(attemptOf('{"reason":"\ufffd"}'), refusedFrom(response));
  while (test.store.head().seq < RECORDS) await decided(test.store, payload());
  return test;
}
