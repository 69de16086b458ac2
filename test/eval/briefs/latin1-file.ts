import { after, calls, edit, read, type Script, says, sh } from '../script/script.ts';

const FILE = 'conf/messages_de.properties';
const BYTES = `node -e "const b = require('node:fs').readFileSync('${FILE}'); console.log(b.length, b.includes(0xc3), b.includes('Sch\\u00f6ne Gr\\u00fc\\u00dfe', 'latin1'))"`;

export const script: Script = {
  turns: [
    [
      calls(read(FILE), sh(`file ${FILE} || true`)),
      // Shown readably, although the file is not in UTF-8.
      after([/Größenübersicht/], edit(FILE, 'app.timeout=30', 'app.timeout=45')),
      calls(edit(FILE, 'farewell=Auf Wiedersehen', 'farewell=Schöne Grüße')),
      after([/"ok"|path/], sh(BYTES), read(FILE)),
      says('Both lines have changed; the file is still in Latin-1.', /false true/),
    ],
  ],
};
