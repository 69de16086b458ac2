import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nameInUrl, numbered, safeName } from './file-name.ts';

describe('the name of a file that was sent', () => {
  const names: readonly (readonly [sent: string, name: string | undefined])[] = [
    ['report.pdf', 'report.pdf'],
    ['My report (final).pdf', 'My_report_final_.pdf'],
    ['данные-2026.csv', 'данные-2026.csv'],
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['/etc/cron.d/x', 'x'],
    ['.git/hooks/pre-commit', 'pre-commit'],
    ['.git', 'git'],
    ['.gitignore', 'gitignore'],
    ['-rf', 'rf'],
    ['$(reboot);`id`|x', 'reboot_id_x'],
    ['a\nb\u202ec\u0000d', 'a_b_c_d'],
    ['x/..', 'x'],
    ['a.txt/', 'a.txt'],
    ['<data>', 'data'],
    ['..', undefined],
    ['', undefined],
    ['/', undefined],
    ['\u200b', undefined],
    ['...', undefined],
    ['\ud800.txt', 'txt'],
  ];
  for (const [sent, name] of names)
    it(`${JSON.stringify(sent)} becomes ${name}`, () => assert.equal(safeName(sent), name));

  it('is cut to 120 bytes, and keeps its extension and whole characters', () => {
    const long = safeName(`${'ж'.repeat(500)}.tar.gz`) ?? '';
    assert.ok(Buffer.byteLength(long) <= 120 && Buffer.byteLength(long) > 115, long);
    assert.match(long, /^ж+\.gz$/);
    assert.ok(Buffer.byteLength(safeName(`a.${'x'.repeat(500)}`) ?? '') <= 120);
  });

  it('is the last part of an address without one, decoded once', () => {
    assert.equal(nameInUrl('https://a.example/docs/My%20plan.pdf?token=secret#p'), 'My_plan.pdf');
    assert.equal(nameInUrl('https://a.example/%2e%2e%2fx'), 'x');
    assert.equal(nameInUrl('https://a.example/%E0%A4%A'), 'E0_A4_A');
    assert.equal(nameInUrl('https://a.example/'), undefined);
  });

  it('gets a number before its extension when it is taken', () => {
    assert.deepEqual(
      [numbered('a.txt', 1), numbered('a.txt', 2), numbered('a', 3)],
      ['a.txt', 'a-2.txt', 'a-3'],
    );
  });
});
