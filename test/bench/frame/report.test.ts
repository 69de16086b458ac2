import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { jsonReport, type Report, writeMarkdown } from './report.ts';
import { textTable } from './table.ts';

const REPORT: Report = {
  machine: {
    cores: 2,
    cpu: 'cpu',
    load: 0,
    node: '24',
    sqlite: '3',
    kernel: 'Linux 6',
    fileSystem: 'ext4',
    fsyncsPerSecond: 5_000,
  },
  pinned: true,
  rounds: 3,
  sections: ['a'],
  tables: [
    {
      title: 'A table',
      head: ['', 'ms'],
      rows: [
        ['  one', '1.5'],
        ['twelve', '12'],
      ],
    },
  ],
  figures: [{ key: 'a.x', unit: 'ratio', better: 'higher', values: [3, 1, 2], samples: 5, note: 'limited' }],
  changes: ['a.x is worse'],
};

test('the JSON has the value of every round beside median and quartiles', () => {
  const { machine, figures, ...rest } = JSON.parse(jsonReport(REPORT));
  assert.deepEqual(figures, [
    {
      key: 'a.x',
      unit: 'ratio',
      better: 'higher',
      median: 2,
      quartiles: [1, 3],
      values: [3, 1, 2],
      samples: 5,
      note: 'limited',
    },
  ]);
  assert.deepEqual([machine.file_system, machine.fsyncs_per_second, machine.cores], ['ext4', 5_000, 2]);
  assert.deepEqual(Object.keys(rest), ['pinned', 'rounds', 'sections', 'tables', 'changes']);
});

test('tables go between the markers of a Markdown file, whose other text stays', (t) => {
  const file = join(tempDir(t), 'page.md');
  writeFileSync(file, '# Page\n\n<!-- bench: begin -->\nold\n<!-- bench: end -->\n\nThe end.\n');
  writeMarkdown(file, REPORT, 'A machine');
  const expected = `# Page

<!-- bench: begin -->
A machine; 5,000 durable writes of 4 KiB per second. Medians of 3 alternating rounds.

A table:

|  | ms |
|---|---:|
| one | 1.5 |
| twelve | 12 |
<!-- bench: end -->

The end.
`;
  assert.equal(readFileSync(file, 'utf8'), expected);
  writeMarkdown(file, REPORT, 'A machine');
  assert.equal(readFileSync(file, 'utf8'), expected, 'a second run changes nothing');
});

test('a file without markers is refused and stays as it is; a missing one is made', (t) => {
  const dir = tempDir(t);
  const [page, made] = [join(dir, 'page.md'), join(dir, 'made.md')];
  writeFileSync(page, '# Page\n');
  assert.throws(
    () => writeMarkdown(page, REPORT, 'A machine'),
    /page\.md lacks the lines <!-- bench: begin -->/,
  );
  assert.equal(readFileSync(page, 'utf8'), '# Page\n');
  writeMarkdown(made, REPORT, 'A machine');
  assert.ok(existsSync(made));
});

test('a text table aligns numbers to the right', () => {
  const [table] = REPORT.tables;
  assert.ok(table);
  assert.equal(textTable(table), 'A table\n           ms\n    one   1.5\n  twelve   12');
});
