import { createShared } from './shared.js';

/** Light and dark: as the system has it, until the person chooses. The choice stays in this browser. */
const KEY = 'theme';
const system = matchMedia('(prefers-color-scheme: dark)');

/** @returns {'light' | 'dark'} */
const ofSystem = () => (system.matches ? 'dark' : 'light');

/** @returns {'light' | 'dark'} */
function current() {
  const chosen = localStorage.getItem(KEY);
  return chosen === 'light' || chosen === 'dark' ? chosen : ofSystem();
}

const shared = createShared({ theme: current() });
/** @returns {'light' | 'dark'} */
export const useTheme = () => shared.use().theme;

function write() {
  const theme = current();
  document.documentElement.dataset['theme'] = theme;
  shared.update({ theme });
}

/** Writes the theme to the document, and keeps it there when the system changes. */
export function startTheme() {
  system.addEventListener('change', write);
  write();
}

/** @param {'light' | 'dark'} theme */
export function chooseTheme(theme) {
  if (theme === ofSystem()) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  write();
}
