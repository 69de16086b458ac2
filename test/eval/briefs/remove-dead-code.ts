import { after, calls, edit, grep, read, type Script, says, sh } from '../script/script.ts';

export const script: Script = {
  turns: [
    [
      calls(sh('git ls-files; cat package.json'), grep('import', 'src')),
      after(
        [/\.\/plugins\/\$\{name\}\.mjs/],
        read('src/main.mjs'),
        read('src/format.mjs'),
        read('src/text.mjs'),
      ),
      calls(
        sh('cat src/telegraph.mjs src/telegraph-code.mjs src/plugins/*.mjs src/pick.mjs scripts/migrate.mjs'),
      ),
      calls(sh('git rm -q src/telegraph.mjs src/telegraph-code.mjs src/plugins/fax.mjs')),
      calls(
        edit(
          'src/format.mjs',
          '\nexport const formatOld = (message) => pad(message.to) + message.text;\n\nconst pad = (text) => text.padEnd(20);\n',
          '',
        ),
        edit('src/text.mjs', '\nexport const lower = (text) => text.toLowerCase();\n', ''),
        edit('package.json', '    "fast-glob": "3.3.3",\n    "left-pad": "1.3.0",\n    "ms": "2.1.3",\n', ''),
      ),
      calls(read('package.json'), sh('node --test test/*.test.mjs')),
      says(
        'Three modules, three functions and three dependencies are gone. The plugins mail and sms are loaded by name, and yaml by the migration.',
      ),
    ],
  ],
};
