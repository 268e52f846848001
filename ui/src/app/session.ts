// The bearer token: for this tab, or for this browser when the person asks for it. Nothing else is kept.
const KEY = 'carillon.token';

type Listener = () => void;

function read(storage: Storage): string | null {
  try {
    return storage.getItem(KEY);
  } catch {
    return null; // storage is forbidden: the token lives as long as the page
  }
}

function write(storage: Storage, token: string | null): void {
  try {
    if (token === null) storage.removeItem(KEY);
    else storage.setItem(KEY, token);
  } catch {
    // see read()
  }
}

class Session {
  private value: string | null = null;
  private loaded = false;
  private expiredFlag = false;
  private listeners = new Set<Listener>();

  token(): string | null {
    if (!this.loaded && typeof window !== 'undefined') {
      this.value = read(window.sessionStorage) ?? read(window.localStorage);
      this.loaded = true;
    }
    return this.value;
  }

  /** True after the server refused the token that was in use. */
  expired(): boolean {
    return this.expiredFlag;
  }

  start(token: string, remember: boolean): void {
    this.value = token;
    this.loaded = true;
    this.expiredFlag = false;
    write(window.sessionStorage, token);
    write(window.localStorage, remember ? token : null);
    this.tell();
  }

  end(): void {
    this.drop(false);
  }

  /** The server refused `token`. A newer one, taken meanwhile, stays. */
  expire(token: string | null): void {
    if (this.token() === token) this.drop(true);
  }

  private drop(expired: boolean): void {
    this.value = null;
    this.loaded = true;
    this.expiredFlag = expired;
    write(window.sessionStorage, null);
    write(window.localStorage, null);
    this.tell();
  }

  subscribe = (listener: Listener): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

export const session = new Session();
