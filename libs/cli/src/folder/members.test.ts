import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { readMembers, servicesOf } from './members.ts';

test('a fleet may have no trader, and its orchestrator comes first', (t) => {
  const home = tempDir(t);
  writeFileSync(
    join(home, 'members.yaml'),
    'profiles: { coder: { port: 9220 }, switch: { port: 9219 } }\nconsole: { port: 9224 }\n',
  );
  const members = readMembers(home);
  assert.deepEqual(servicesOf(members), ['switch', 'coder']);
  assert.deepEqual([members.trader, members.name], [undefined, 'hermes-fleet']);
});

test('an invalid list names the file, the line, the key and the reason of every problem', (t) => {
  const home = tempDir(t);
  const reasonsOf = (text: string): readonly string[] => {
    writeFileSync(join(home, 'members.yaml'), text);
    try {
      readMembers(home);
    } catch (error) {
      if (error instanceof FleetError) return error.fields.map(({ path, reason }) => `${path}: ${reason}`);
      throw error;
    }
    return [];
  };
  assert.deepEqual(
    reasonsOf(`profiles:
  neo: { port: 9220 }
  Neo: { port: 9221 }
  docker: { port: 9220 }
  neo-fast: { port: 4222 }
console: { port: 9224 }
`),
    [
      'members.yaml:1 profiles: has no switch, which takes the tasks',
      'members.yaml:2 profiles.neo: would be a replica beside neo-fast: choose another beginning',
      'members.yaml:3 profiles.Neo: is not a name of lower-case letters, digits and "-"',
      'members.yaml:4 profiles.docker: is a name that the fleet uses itself',
      'members.yaml:4 profiles.docker.port: port 9220 is that of neo',
      'members.yaml:5 profiles.neo-fast: would be a replica beside neo: choose another beginning',
      'members.yaml:5 profiles.neo-fast.port: port 4222 is that of nats',
    ],
  );
  assert.match(
    reasonsOf('profiles: { switch: { prt: 9219 } }\nconsole: { port: 9224 }\n').join('\n'),
    /members\.yaml:1 profiles\.switch\.prt: .*did you mean "?port/s,
  );
});
