import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemIds } from './ids.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const many = (): string[] => Array.from({ length: 1000 }, () => systemIds.uuid());
/** The digits after the time and the sequence. */
const randomPart = (id: string): string => id.slice(-10);

describe('systemIds', () => {
  it('creates UUIDv7s that sort by age', () => {
    const ids = many();
    for (const id of ids) assert.match(id, UUID_V7);
    assert.deepEqual(ids.toSorted(), ids);
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(new Set(ids.map(randomPart)).size, ids.length);
  });

  it('creates later ones that sort after earlier ones when the clock is set back', (t) => {
    const now = Date.now() + 60_000;
    t.mock.timers.enable({ apis: ['Date'], now });
    const before = many();
    t.mock.timers.setTime(now - 30_000);
    const after = many();
    const ids = [...before, ...after];
    assert.deepEqual(ids.toSorted(), ids);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('begins with the time in milliseconds', (t) => {
    const now = Date.now() + 120_000;
    t.mock.timers.enable({ apis: ['Date'], now });
    assert.equal(Number.parseInt(systemIds.uuid().replace('-', '').slice(0, 12), 16), now);
  });
});
