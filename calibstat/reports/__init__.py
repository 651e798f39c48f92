"""Reports: what is found about models, as one document, and the page that shows it."""
