import { App } from './app.js';
import { speakInto } from './lib/announce.js';
import { startLive } from './lib/live.js';
import { loadSession } from './lib/session.js';
import { startTheme } from './lib/theme.js';
import { html, render } from './lib/vendor.js';

startTheme();
const region = document.createElement('div');
region.className = 'hidden';
region.setAttribute('role', 'status');
region.setAttribute('aria-live', 'polite');
document.body.append(region);
speakInto(region);

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no element "app"');
root.replaceChildren();
render(html`<${App} />`, root);
await loadSession();
startLive();
