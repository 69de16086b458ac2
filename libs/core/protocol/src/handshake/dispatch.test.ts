import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../wire/json.ts';
import {
  BranchName,
  decodeDispatch,
  encodeDispatch,
  isWriteTask,
  RepositoryName,
  repositoriesAmong,
  repositoryCapability,
} from './dispatch.ts';

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
    [undefined, ['repository:web'], true],
    [undefined, ['repository:web', 'read_file'], false],
    [undefined, ['repository:web', 'terminal'], true],
    [false, ['repository:web'], false],
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

describe('a dispatch with a repository', () => {
  const wireOf = (required: string[] | undefined, repository?: JsonObject): JsonObject => ({
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: 't', ...(repository ? { repository } : {}) },
    ...(required ? { requirements: { min_context_window: 9, required_capabilities: required } } : {}),
    brief: 'b',
  });
  const required = (wire: JsonObject) => decodeDispatch(wire).requirements?.requiredCapabilities;
  const web = { name: 'web' };

  it('requires the capability of that repository, once', () => {
    assert.equal(repositoryCapability('web'), 'repository:web');
    assert.deepEqual(repositoriesAmong(['file', 'repository:web', 'repository', 'repository:api']), [
      'web',
      'api',
    ]);
    assert.deepEqual(required(wireOf(undefined, web)), ['repository:web']);
    assert.deepEqual(required(wireOf(['file'], web)), ['file', 'repository:web']);
    assert.deepEqual(required(wireOf(['repository:web', 'file'], web)), ['repository:web', 'file']);
    assert.deepEqual(required(wireOf(['repository:api'], web)), ['repository:api', 'repository:web']);
    assert.equal(required(wireOf(undefined)), undefined);
  });

  it('keeps its other requirements, and is sent on with the capability', () => {
    const dispatch = decodeDispatch(wireOf(['file'], { ...web, base: 'main', x_depth: 3 }));
    assert.equal(dispatch.requirements?.minContextWindow, 9);
    const sent = encodeDispatch(dispatch);
    assert.deepEqual(sent, wireOf(['file', 'repository:web'], { ...web, base: 'main', x_depth: 3 }));
    assert.deepEqual(encodeDispatch(decodeDispatch(sent)), sent);
  });

  it('is refused if the capability would be one too many', () => {
    const names = Array.from({ length: 100 }, (_, n) => `tool-${n}`);
    assert.throws(() => decodeDispatch(wireOf(names, web)), {
      code: 'INVALID_PARAMS',
      message: /^requirements\.required_capabilities has 100 names, .*"repository:web"/,
    });
    assert.equal(required(wireOf(names.slice(1), web))?.length, 100);
    assert.equal(required(wireOf(names))?.length, 100);
  });
});

describe('the name of a repository', () => {
  for (const name of ['web', 'Web-2_a.b', '0', 'a'.repeat(63)])
    it(`may be ${name}`, () => assert.equal(RepositoryName.parse(name), name));
  for (const name of ['', 'a'.repeat(64), '.', '..', '.a', '-a', 'a/b', 'a b', 'a\n', 'a:b', 'ä'])
    it(`is not ${JSON.stringify(name)}`, () => assert.equal(RepositoryName.safeParse(name).success, false));
});

describe('the name of a branch', () => {
  const isTaken = (name: string): boolean => BranchName.safeParse(name).success;
  for (const name of ['x'.repeat(200), ...'main release/1.2 fix/#12-größe a.b-c_d+e a@b HEAD/x'.split(' ')])
    it(`may be ${name}`, () => assert.equal(isTaken(name), true));
  for (const name of [
    ...['', 'a b', 'a\tb', 'a\n', 'a\u0000b', 'a\u007f', 'a\\b', 'x'.repeat(201)],
    ...'-d /a a/ .a a/.b a. a..b a//b a~1 a^ a:b a? a* a[b a@{1} @{-1} a.lock a.lock/b'.split(' '),
  ])
    it(`is not ${JSON.stringify(name)}`, () => assert.equal(isTaken(name), false));

  it('is one that git takes, and no other but those that git reads as options', () => {
    const pieces = 'a B 0 . .. / - _ @ @{ { } .lock lock ~ ^ : ? * [ ] \\ # % $ " \' ( HEAD ä 漢'.split(' ');
    const names = fc.sample(
      fc.array(fc.constantFrom(' ', ...pieces), { minLength: 1, maxLength: 5 }).map((some) => some.join('')),
      { numRuns: 100 },
    );
    for (const name of new Set(names)) {
      const { status } = spawnSync('git', ['check-ref-format', `refs/heads/${name}`]);
      assert.equal(isTaken(name), status === 0 && !name.startsWith('-'), name);
    }
  });
});
