import { after, calls, edit, type Files, read, type Script, says, sh } from '../script/script.ts';

const LINES = [
  ...[
    '[General]',
    'Name=Monthly report',
    'Language=en',
    '',
    '[Output]',
    'Printer=LPT1',
    'Copies=1',
    'Duplex=off',
    '',
  ],
  ...['[Log]', 'Level=info', 'Path=C:\\Logs\\report.log', '', '[Columns]'],
  ...Array.from({ length: 60 }, (_, at) => `Column${at + 1}=${at % 7},${10 + at}`),
];

export const files: Files = {
  'legacy/Report.ini': LINES.map((line) => `${line}\r\n`).join(''),
  'test/check.cjs': `const text = require('node:fs').readFileSync('legacy/Report.ini', 'latin1');
const lines = text.split('\\r\\n');
if (/[^\\r]\\n|\\r[^\\n]/.test(text)) throw new Error('a line has no CRLF');
if (lines.pop() !== '') throw new Error('the last line has no end');
if (!lines.every((line) => line === '' || /^\\[\\w+\\]$|^\\w+=.*$/.test(line))) throw new Error('a line cannot be read');
`,
};

export const script: Script = {
  turns: [
    [
      calls(read('legacy/Report.ini'), sh('node test/check.cjs')),
      // The model writes LF, and the file keeps CRLF.
      after(
        [/Printer=LPT1/],
        edit(
          'legacy/Report.ini',
          'Printer=LPT1\nCopies=1\nDuplex=off\n',
          'Printer=PDF\nCopies=2\nDuplex=off\nPaper=A4\n',
        ),
      ),
      calls(edit('legacy/Report.ini', '[Log]\nLevel=info', '[Log]\nLevel=warn')),
      calls(read('legacy/Report.ini', 1, 20), sh('node test/check.cjs')),
      says(
        'The printer, the copies, the paper and the log level are set, and the line ends are as they were.',
      ),
    ],
  ],
};
