import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App';
import { applyTheme } from './app/settings';
import { startI18n } from './i18n';
import './theme/tokens.css';
import './theme/base.css';
import './theme/components.css';
import './theme/pages.css';

applyTheme();
void startI18n().then(() => {
  const root = document.getElementById('root');
  if (root) {
    createRoot(root).render(
      <StrictMode>
        <App />
      </StrictMode>,
    );
  }
});
