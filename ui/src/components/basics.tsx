// Buttons, fields, headings: native elements with our clothes on.
import { useId, type ButtonHTMLAttributes, type ReactNode } from 'react';
import { Icon } from './icons';

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  icon?: string;
  look?: 'plain' | 'main' | 'danger' | 'ghost';
  small?: boolean;
  busy?: boolean;
  iconOnly?: boolean; // children stay as the accessible name
};

export function Button({ icon, look = 'plain', small, busy, iconOnly, children, className, disabled, ...rest }: ButtonProps) {
  const classes = ['button', `look-${look}`, small && 'small', iconOnly && 'icon-only', className].filter(Boolean).join(' ');
  return (
    <button
      type="button"
      {...rest}
      className={classes}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      title={iconOnly && typeof children === 'string' ? children : rest.title}
    >
      {icon && <Icon name={busy ? 'busy' : icon} />}
      <span className={iconOnly ? 'sr-only' : undefined}>{children}</span>
    </button>
  );
}

export function PageHead({ title, kicker, children, actions }: { title: ReactNode; kicker?: ReactNode; children?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="page-head">
      <div className="page-head-text">
        {kicker && <p className="kicker">{kicker}</p>}
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
      {actions && <div className="page-head-actions">{actions}</div>}
    </header>
  );
}

export function Card({ title, actions, children, className }: { title: ReactNode; actions?: ReactNode; children: ReactNode; className?: string }) {
  const id = useId();
  return (
    <section className={`card${className ? ` ${className}` : ''}`} aria-labelledby={id}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {actions && <div className="card-actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** A label with its control; `children` gets the id that ties them. */
export function Field({ label, hint, error, children }: { label: ReactNode; hint?: ReactNode; error?: ReactNode; children: (ids: { id: string; describedBy?: string }) => ReactNode }) {
  const id = useId();
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const describedBy = [hint ? hintId : null, error ? errorId : null].filter(Boolean).join(' ') || undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, describedBy })}
      {hint && (
        <p id={hintId} className="hint">
          {hint}
        </p>
      )}
      {error && (
        <p id={errorId} className="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** Terms and what they are, side by side. Empty ones are left out. */
export function Facts({ items }: { items: [ReactNode, ReactNode][] }) {
  return (
    <dl className="facts">
      {items
        .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
        .map(([term, value], index) => (
          <div key={index}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
