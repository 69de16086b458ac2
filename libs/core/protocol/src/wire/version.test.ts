import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  answerVersion,
  highestOf,
  isCompatible,
  isNewerMinor,
  majorOf,
  negotiate,
  PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
} from './version.ts';

describe('negotiate', () => {
  for (const [ours, theirs, spoken] of [
    [['2.0'], ['2.0'], '2.0'],
    [['2.1', '2.0'], ['2.0'], '2.0'],
    [['2.0', '2.1'], ['2.1', '2.0'], '2.1'],
    [['2.9', '2.10'], ['2.10', '2.9'], '2.10'],
    [['2.0', '3.0'], ['2.0', '3.1'], '2.0'],
    [['2.1', '2.0'], ['2.7'], '2.1'],
    [['2.0'], ['3.0'], undefined],
    [['2.0'], ['1.0', '3.0'], undefined],
    [['2.0'], [], undefined],
    [['2.0'], ['2', 'two', '2.0.1', ''], undefined],
  ] as const) {
    it(`${ours} with ${theirs || 'nothing'}: ${spoken ?? 'no common version'}`, () => {
      assert.equal(negotiate(ours, theirs), spoken);
    });
  }

  const version = fc.tuple(fc.nat(3), fc.nat(12)).map(([major, minor]) => `${major}.${minor}`);
  const versions = fc.uniqueArray(version, { maxLength: 6 });

  it('picks one of our versions, of a major that the peer knows, or none', () => {
    fc.assert(
      fc.property(versions, versions, (ours, theirs) => {
        const spoken = negotiate(ours, theirs);
        const common = ours.some((a) => theirs.some((b) => majorOf(a) === majorOf(b)));
        assert.equal(spoken !== undefined, common);
        if (spoken === undefined) return;
        assert.ok(ours.includes(spoken));
        assert.ok(theirs.some((b) => majorOf(b) === majorOf(spoken)));
      }),
    );
  });

  it('picks the same version on both sides if both list one, in any order', () => {
    fc.assert(
      fc.property(versions, versions, version, (a, b, shared) => {
        const ours = [...a, shared];
        const theirs = [shared, ...b];
        const spoken = negotiate(ours, theirs);
        assert.equal(negotiate(theirs, ours), spoken);
        assert.equal(negotiate(ours.toReversed(), theirs.toReversed()), spoken);
        assert.ok(spoken !== undefined && theirs.includes(spoken));
      }),
    );
  });

  const value = (of: string): number => {
    const [major = 0, minor = 0] = of.split('.').map(Number);
    return major * 1000 + minor;
  };

  it('picks the highest version that both sides list, and only versions that we list', () => {
    fc.assert(
      fc.property(versions, versions, (ours, theirs) => {
        const both = ours.filter((each) => theirs.includes(each));
        const highest = both.sort((a, b) => value(b) - value(a))[0];
        const spoken = negotiate(ours, theirs);
        if (highest !== undefined) assert.equal(spoken, highest);
        assert.ok(spoken === undefined || ours.includes(spoken));
      }),
    );
  });

  it('finds a common version on both sides or on neither, independent of order', () => {
    fc.assert(
      fc.property(versions, versions, (ours, theirs) => {
        const spoken = negotiate(ours, theirs);
        assert.equal(negotiate(theirs, ours) === undefined, spoken === undefined);
        assert.equal(negotiate(ours.toReversed(), theirs.toReversed()), spoken);
        assert.equal(negotiate([...ours, ...ours], theirs), spoken);
      }),
    );
  });

  it('is settled after one exchange: the answer has the same major version', () => {
    fc.assert(
      fc.property(versions, versions, (ours, theirs) => {
        const spoken = negotiate(ours, theirs);
        if (spoken === undefined) return;
        const answer = answerVersion(spoken, theirs);
        assert.ok(theirs.includes(answer) && isCompatible(answer, ours));
        if (theirs.includes(spoken)) assert.equal(answer, spoken);
        assert.equal(majorOf(answer), majorOf(spoken));
      }),
    );
  });

  it('never picks an older version because the peer learned a newer one', () => {
    fc.assert(
      fc.property(versions, versions, version, (ours, theirs, learned) => {
        const before = negotiate(ours, theirs);
        const after = negotiate(ours, [...theirs, learned]);
        if (before !== undefined) assert.ok(after !== undefined);
        if (before === undefined || after === undefined || !theirs.includes(before)) return;
        const [major = 0, minor = 0] = before.split('.').map(Number);
        const [newMajor = 0, newMinor = 0] = after.split('.').map(Number);
        assert.ok(newMajor > major || (newMajor === major && newMinor >= minor));
      }),
    );
  });
});

describe('the version of an answer', () => {
  for (const [asked, ours, answer] of [
    ['2.0', ['2.0'], '2.0'],
    ['2.0', ['2.1', '2.0'], '2.0'],
    ['2.1', ['2.0'], '2.0'],
    ['2.0', ['2.1'], '2.1'],
    ['2.9', ['3.0', '2.0', '2.1'], '2.1'],
    ['3.0', ['3.0', '2.0'], '3.0'],
    ['3.0', ['2.0', '2.1'], '2.1'],
    ['1.0', ['2.0', '3.0'], '3.0'],
    ['9.9', [], PROTOCOL_VERSION],
  ] as const)
    it(`to ${asked} from a speaker of ${ours.join(', ') || 'nothing'}: ${answer}`, () => {
      assert.equal(answerVersion(asked, ours), answer);
    });

  it('starts with the highest version', () => {
    assert.equal(highestOf(['2.9', '2.10', '1.99']), '2.10');
  });
});

describe('isNewerMinor', () => {
  for (const [version, answer] of [
    ['2.1', true],
    ['2.10', true],
    ['2.0', false],
    ['3.0', false],
    ['3.1', false],
    ['1.9', false],
    ['two', false],
    [2.1, false],
    [undefined, false],
  ] as const)
    it(`${JSON.stringify(version)}: ${answer}`, () => assert.equal(isNewerMinor(version), answer));
});

describe('isCompatible', () => {
  for (const [version, answer] of [
    ['2.0', true],
    ['2.99', true],
    ['1.9', false],
    ['3.0', false],
    ['20.0', false],
    ['2', false],
    ['2.0.1', false],
    ['', false],
  ] as const) {
    it(`${JSON.stringify(version)}: ${answer}`, () => {
      assert.equal(isCompatible(version), answer);
    });
  }

  it('covers the versions of this build', () => {
    assert.ok(PROTOCOL_VERSIONS.includes(PROTOCOL_VERSION));
    assert.ok(PROTOCOL_VERSIONS.every((version) => isCompatible(version)));
  });
});
