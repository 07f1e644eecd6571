//! `CUpti_ActivityMemcpyKind`; 11 to 13 are migrations of unified memory in nsys's numbering.

crate::vocabulary! {
    "Direction in a word, e.g. `HtoD`.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `HtoD`.
    HTOD = 1, "HtoD";
    /// `DtoH`.
    DTOH = 2, "DtoH";
    /// `HtoA`.
    HTOA = 3, "HtoA";
    /// `AtoH`.
    ATOH = 4, "AtoH";
    /// `AtoA`.
    ATOA = 5, "AtoA";
    /// `AtoD`.
    ATOD = 6, "AtoD";
    /// `DtoA`.
    DTOA = 7, "DtoA";
    /// `DtoD`.
    DTOD = 8, "DtoD";
    /// `HtoH`.
    HTOH = 9, "HtoH";
    /// `PtoP`.
    PTOP = 10, "PtoP";
    /// `unified HtoD`.
    UNIFIED_HTOD = 11, "unified HtoD";
    /// `unified DtoH`.
    UNIFIED_DTOH = 12, "unified DtoH";
    /// `unified DtoD`.
    UNIFIED_DTOD = 13, "unified DtoD";
}
