//! Estimators that several laws share.
