import { after, calls, edit, grep, read, replaceAll, type Script, says, sh } from '../script/script.ts';

const FILES = [
  ...['config/app.json', 'config/app.toml', 'compose.yaml', '.env.example'],
  ...['Dockerfile', 'deploy/nginx.conf', 'deploy/relay.ini'],
];

export const script: Script = {
  turns: [
    [
      calls(grep('8080'), sh('grep -rn 8080 . --exclude-dir=.git')),
      calls(...FILES.map((path) => read(path))),
      after(
        [/limits\.port is the number of ports/],
        edit('config/app.json', '"0.0.0.0", "port": 8080', '"0.0.0.0", "port": 8443'),
        edit('config/app.toml', 'port = 8080', 'port = 8443'),
        edit('compose.yaml', '"8080:8080"', '"8443:8443"'),
        edit('.env.example', 'localhost:8080', 'localhost:8443'),
        edit('Dockerfile', 'EXPOSE 8080', 'EXPOSE 8443'),
        edit('deploy/nginx.conf', 'relay:8080', 'relay:8443'),
        edit('deploy/relay.ini', '\nport=8080', '\nport=8443'),
      ),
      calls(replaceAll('compose.yaml', '127.0.0.1:8080', '127.0.0.1:8443')),
      calls(...FILES.map((path) => read(path))),
      says('All seven files name port 8443. The other numbers 8080 mean something else, and stay.'),
    ],
  ],
};
