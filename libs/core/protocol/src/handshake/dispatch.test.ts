import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeDispatch, isWriteTask } from './dispatch.ts';

describe('isWriteTask', () => {
  for (const [write, required, answer] of [
    [true, ['browser'], true],
    [false, ['file'], false],
    [undefined, undefined, true],
    [undefined, [], true],
    [undefined, ['file'], true],
    [undefined, ['patch'], true],
    [undefined, ['terminal'], true],
    [undefined, ['browser', 'shell_exec'], true],
    [undefined, ['write_file'], true],
    [undefined, ['edit_file'], true],
    [undefined, ['browser'], false],
    [undefined, ['read_file'], false],
  ] as const) {
    it(`write ${write}, required ${required ?? 'absent'}: ${answer}`, () => {
      const dispatch = decodeDispatch({
        type: 'TASK_DISPATCH',
        protocol_version: '2.0',
        task: { task_id: 't', ...(write === undefined ? {} : { write }) },
        ...(required ? { requirements: { required_capabilities: required } } : {}),
        brief: 'b',
      });
      assert.equal(isWriteTask(dispatch), answer);
    });
  }
});
