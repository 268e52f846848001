// The package types its main module only; a locale registers itself when loaded.
declare module 'cronstrue/locales/zh_CN';
declare module 'cronstrue/locales/ja';
