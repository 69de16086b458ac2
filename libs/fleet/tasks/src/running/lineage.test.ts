import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { lineageOf, rootCallerIn } from './lineage.ts';

const isMember = (caller: string): boolean => caller === 'switch';
const of = (task: JsonObject, caller: string): JsonObject | undefined =>
  lineageOf({ task: { task_id: 'k', ...task } }, 'k', { name: caller }, isMember);

const PARENT = { task_id: 'build-1', profile: 'switch' };

describe('the lineage of a task', () => {
  it('is absent for one that entered the fleet', () => {
    const plain: JsonObject[] = [{}, { root_id: 'k' }, { path: [] }, { root_caller: '' }];
    for (const task of plain)
      for (const caller of ['operator', 'switch']) assert.equal(of(task, caller), undefined);
    assert.equal(lineageOf({}, 'k', { name: 'operator' }, isMember), undefined);
  });

  it('names root and parent as the dispatch does', () => {
    const sent = { root_id: 'r', root_caller: 'operator', parent: PARENT, path: ['switch'] };
    assert.deepEqual(of(sent, 'switch'), {
      root_id: 'r',
      root_caller: 'operator',
      parent_task_id: 'build-1',
      parent_profile: 'switch',
    });
  });

  it('has the root caller that a member names; one that names none does not know it', () => {
    assert.equal(of({ root_caller: 'operator' }, 'switch')?.root_caller, 'operator');
    const sent: JsonObject[] = [{ root_id: 'r' }, { parent: PARENT }, { path: ['switch'] }];
    for (const task of sent) assert.equal(of(task, 'switch')?.root_caller, null);
  });

  it('has another caller itself, whatever name that gives', () => {
    assert.equal(of({ root_caller: 'operator' }, 'mallory'), undefined);
    assert.deepEqual(of({ root_id: 'r', root_caller: 'operator' }, 'mallory'), {
      root_id: 'r',
      root_caller: 'mallory',
    });
  });

  it('has no value of another type, and no long one', () => {
    const odd = { root_id: 5, root_caller: { a: 1 }, parent: 'x', path: ['y'] };
    assert.deepEqual(of(odd, 'switch'), { root_id: 'k', root_caller: null });
    assert.equal(of({ root_id: 'r'.repeat(999) }, 'switch')?.root_id, 'r'.repeat(200));
  });

  it('gives the run its root caller', () => {
    assert.deepEqual(rootCallerIn(undefined), {});
    assert.deepEqual(rootCallerIn({ root_caller: 'operator' }), { rootCaller: 'operator' });
    assert.deepEqual(rootCallerIn({ root_caller: null }), { rootCaller: null });
  });
});
