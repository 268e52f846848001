// Text that a stranger wrote: a description, an owner, an error. It is text and nothing else, its end stays out of the way
// until asked for, and what would act in it is shown.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { headOf, piecesOf } from '../app/visible';

const LIMIT = 600;

export function Visible({ text }: { text: string }) {
  return (
    <>
      {piecesOf(text).map((piece, index) =>
        piece.acting ? (
          <span key={index} className="acting">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}

/** `limit`: characters that are shown at first. */
export function Prose({ text, limit = LIMIT }: { text: string; limit?: number }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  if (all || text.length <= limit) return <Visible text={text} />;
  return (
    <>
      <Visible text={headOf(text, limit)} />…{' '}
      <button type="button" className="link" onClick={() => setAll(true)}>
        {t('code.all', { n: text.length })}
      </button>
    </>
  );
}
